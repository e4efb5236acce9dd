#include "compile/ptxas_report.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "compile/elf_image.h"

namespace ffpa_jit {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The number that stands before `unit`: 148 of "used 1 barriers, 148 bytes smem" for " bytes smem".
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const size_t end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  const auto parsed = std::from_chars(line.data() + begin, line.data() + end, value);
  return parsed.ec == std::errc() && begin < end ? std::optional(value) : std::nullopt;
}

bool is_loss(std::string_view line) {
  const size_t at = line.find("(C75");
  return at != std::string_view::npos || line.find("Performance Loss") != std::string_view::npos;
}

bool is_report(std::string_view line) {
  // "ptxas info    : Used 10 registers ..." and "ptxas         .     0 bytes stack frame ..."
  return (line.starts_with("ptxas info") || line.starts_with("ptxas     ")) &&
         line.find("(C") == std::string_view::npos;
}

uint32_t word_at(std::span<const std::byte> bytes, size_t offset) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Attributes of .nv.info: one byte format (4: two bytes of size and that many of payload; others:
// two bytes of value in place), one byte kind. The per-function kinds carry {symbol, value}.
constexpr uint8_t kSizedFormat = 0x04;
constexpr uint8_t kFrameSize = 0x11;
constexpr uint8_t kRegisterCount = 0x2f;

// From sm_90 on, the kilobyte that the driver reserves is part of the shared section; ptxas does
// not count it.
constexpr uint64_t kReservedShared = 1024;
constexpr int kReservedSince = 90;

}  // namespace

KernelResources resources_in_ptxas_text(std::string_view log, std::string_view entry) {
  KernelResources out;
  bool in_entry = false;     // inside the report of this entry's compilation
  bool of_function = false;  // after its "Function properties", not another function's
  for (std::string_view line : lines_of(log)) {
    if (const size_t at = line.find("Compiling entry function '"); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + std::strlen("Compiling entry function '"));
      in_entry = name.starts_with(entry) && name.substr(entry.size()).starts_with("'");
    } else if (const size_t p = line.find("Function properties for ");
               p != std::string_view::npos) {
      of_function = line.substr(p + std::strlen("Function properties for ")) == entry;
    } else if (in_entry && of_function &&
               line.find(" bytes stack frame") != std::string_view::npos) {
      const auto stores = number_before(line, " bytes spill stores");
      const auto loads = number_before(line, " bytes spill loads");
      out.local_bytes = number_before(line, " bytes stack frame").value_or(-1);
      if (stores && loads) out.spill_bytes = *stores + *loads;
    } else if (in_entry && line.find(": Used ") != std::string_view::npos) {
      out.registers = number_before(line, " registers").value_or(-1);
      out.static_shared_bytes = number_before(line, " bytes smem").value_or(0);
    }
  }
  return out;
}

std::optional<KernelResources> resources_in_cubin(std::span<const std::byte> cubin,
                                                  std::string_view entry, int compute_capability) {
  const std::optional<ElfImage> elf = ElfImage::parse(cubin);
  const ElfSection* code = elf ? elf->section(".text." + std::string(entry)) : nullptr;
  if (!code) return std::nullopt;
  KernelResources out;
  out.code_bytes = static_cast<int64_t>(code->size);
  out.static_shared_bytes = 0;
  if (const ElfSection* shared = elf->section(".nv.shared." + std::string(entry))) {
    const uint64_t reserved = compute_capability >= kReservedSince ? kReservedShared : 0;
    out.static_shared_bytes = static_cast<int64_t>(shared->size - std::min(shared->size, reserved));
  }
  const ElfSection* info = elf->section(".nv.info");
  if (!info) return out;
  const std::vector<ElfSymbol> symbols = elf->symbols(".symtab");
  const std::span<const std::byte> bytes = info->bytes;
  for (size_t at = 0; at + 4 <= bytes.size();) {
    const auto format = std::to_integer<uint8_t>(bytes[at]);
    const auto kind = std::to_integer<uint8_t>(bytes[at + 1]);
    const size_t value =
        std::to_integer<size_t>(bytes[at + 2]) | std::to_integer<size_t>(bytes[at + 3]) << 8;
    at += 4;
    if (format != kSizedFormat) continue;
    if (value > bytes.size() - at) break;
    if (value == 8) {
      const uint32_t symbol = word_at(bytes, at);
      if (symbol < symbols.size() && symbols[symbol].name == entry) {
        if (kind == kRegisterCount) out.registers = static_cast<int>(word_at(bytes, at + 4));
        if (kind == kFrameSize) out.local_bytes = static_cast<int>(word_at(bytes, at + 4));
      }
    }
    at += value;
  }
  return out;
}

std::string without_ptxas_report(std::string_view log) {
  std::string out;
  for (std::string_view line : lines_of(log)) {
    if (line.empty() || is_report(line)) continue;
    if (!out.empty()) out += '\n';
    out += line;
  }
  return out;
}

std::vector<std::string> performance_losses(std::string_view log) {
  std::vector<std::string> out;
  for (std::string_view line : lines_of(log)) {
    if (is_loss(line)) out.emplace_back(line);
  }
  return out;
}

}  // namespace ffpa_jit
