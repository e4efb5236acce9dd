// The table. Shared memory per block is the opt-in limit of the architecture (CUDA C++ Programming
// Guide, "Compute Capabilities"); multiprocessor counts are those of the vendor's data sheets.
#include "ffpa-jit/known_devices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "device/cpu/cpu_device.h"

namespace ffpa_jit::cli {
namespace {

struct KnownDevice {
  std::string_view name;
  int capability;
  int multiprocessors;
  int shared_kib;
  int memory_gib;
};

// The first of an architecture is the typical one.
constexpr std::array<KnownDevice, 17> kDevices = {{
    {"Tesla T4", 75, 40, 64, 15},
    {"NVIDIA A100-SXM4-80GB", 80, 108, 163, 80},
    {"NVIDIA GeForce RTX 3090", 86, 82, 99, 24},
    {"NVIDIA A10", 86, 72, 99, 23},
    {"Orin", 87, 16, 163, 62},
    {"NVIDIA L40S", 89, 142, 99, 45},
    {"NVIDIA GeForce RTX 4090", 89, 128, 99, 24},
    {"NVIDIA L4", 89, 58, 99, 23},
    {"NVIDIA H100 80GB HBM3", 90, 132, 227, 80},
    {"NVIDIA H200", 90, 132, 227, 140},
    {"NVIDIA GH200 480GB", 90, 132, 227, 95},
    {"NVIDIA B200", 100, 148, 227, 179},
    {"NVIDIA B300", 103, 148, 227, 268},
    {"NVIDIA Thor", 110, 20, 227, 122},
    {"NVIDIA GeForce RTX 5090", 120, 170, 99, 32},
    {"NVIDIA RTX PRO 6000 Blackwell", 120, 188, 99, 96},
    {"NVIDIA GB10", 121, 48, 99, 120},
}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string all_names() {
  std::vector<std::string_view> names;
  for (const KnownDevice& device : kDevices) names.push_back(device.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Whole words only: "h200" is no part of "nvidia gh200 480gb".
bool names_part_of(const std::string& device, const std::string& name) {
  const auto ends_word = [&](size_t at) {
    return at >= device.size() || !std::isalnum(static_cast<unsigned char>(device[at]));
  };
  for (size_t at = device.find(name); at != std::string::npos; at = device.find(name, at + 1)) {
    if ((at == 0 || ends_word(at - 1)) && ends_word(at + name.size())) return true;
  }
  return false;
}

const KnownDevice& by_name(const std::string& name) {
  const KnownDevice* found = nullptr;
  for (const KnownDevice& device : kDevices) {
    if (device.name == name) return device;
    if (!names_part_of(lower(device.name), lower(name))) continue;
    if (found)
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "--for: '{}' may mean {} or {}", name, found->name,
                  device.name);
    found = &device;
  }
  if (!found)
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "--for: no device '{}' is known; known: {}", name,
                all_names());
  return *found;
}

// A CPU's description in pieces; without a word of the form key=value or cpu:LEVEL it is none.
struct CpuWords {
  std::string name, level, threads, l2, unknown;
  bool found = false;
};

CpuWords words_of(const std::string& description) {
  CpuWords words;
  std::istringstream stream(description);
  size_t end_of_name = 0;
  for (std::string word; stream >> word;) {
    if (word.starts_with("cpu:")) {
      words.level = word;
    } else if (word.starts_with("threads=")) {
      words.threads = word.substr(8);
    } else if (word.starts_with("l2=")) {
      words.l2 = word.substr(3);
    } else {
      if (words.found)
        words.unknown = word;
      else
        end_of_name = stream.eof() ? description.size() : static_cast<size_t>(stream.tellg());
      continue;
    }
    words.found = true;
  }
  words.name = description.substr(0, end_of_name);  // its own spaces are part of an identity
  return words;
}

std::optional<int64_t> number_of(std::string_view text, int64_t most) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

}  // namespace

bool describes_cpu(const std::string& description) { return words_of(description).found; }

DeviceInfo described_cpu(const std::string& description, const std::optional<Target>& target) {
  const CpuWords words = words_of(description);
  const auto refuse = [&](const std::string& what) {
    throw_error(
        FFPA_JIT_INVALID_ARGUMENT,
        "--for: '{}' {}; a CPU is described by its level, threads and L2 cache of one core, "
        "as in \"cpu:x86-64-v4 threads=64 l2=2M\" (on that machine: the identity that "
        "`ffpa-jit devices --json` prints)",
        description, what);
  };
  if (!words.unknown.empty()) refuse(fmt::format("has the word '{}'", words.unknown));
  DeviceInfo info;
  if (words.level.empty() && !target) refuse("names no level");
  info.target = words.level.empty() ? *target : parse_target(words.level);
  if (target && info.target != *target) {
    refuse(fmt::format("is of another level than --target {}", text_of(*target)));
  }
  info.multiprocessors = static_cast<int>(number_of(words.threads, 4096).value_or(0));
  if (info.multiprocessors == 0) refuse("does not say threads=N, 1 to 4096");
  std::string l2 = words.l2;
  int shift = 0;
  if (!l2.empty() && (l2.back() == 'K' || l2.back() == 'M')) {
    shift = l2.back() == 'K' ? 10 : 20;
    l2.pop_back();
  }
  info.shared_bytes_per_block = number_of(l2, int64_t{1} << 30).value_or(0) << shift;
  if (info.shared_bytes_per_block < 1024 || info.shared_bytes_per_block > int64_t{1} << 30) {
    refuse("does not say l2=SIZE, 1K to 1024M");
  }
  info.name = words.name.empty() ? "CPU" : words.name;
  info.text = "cpu";
  info.identity = cpu_identity(info);
  return info;
}

std::string target_described_by(const std::string& description) {
  if (describes_cpu(description)) return text_of(described_cpu(description, std::nullopt).target);
  const int capability = by_name(description).capability;
  // The targets with instructions of their own architecture only, which kernels want.
  return fmt::format("sm_{}{}", capability, capability >= 90 ? "a" : "");
}

DeviceInfo known_cuda_device(const Target& target, const std::string& name) {
  const int capability = target.compute_capability();
  const KnownDevice* device = nullptr;
  if (!name.empty()) {
    device = &by_name(name);
    if (device->capability != capability) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "--for: {} is an sm_{} device; --target asks for {}",
                  device->name, device->capability, text_of(target));
    }
  } else {
    for (const KnownDevice& known : kDevices) {
      if (!device && known.capability == capability) device = &known;
    }
    if (!device)
      device = &by_name(
          "NVIDIA GeForce RTX 3090");  // sm_88: nothing of it is published; the least assumed
  }
  DeviceInfo info;
  info.name = device->name;
  info.text = "cuda";
  info.identity = fmt::format("{}, capability {}.{}, {} multiprocessors", device->name,
                              capability / 10, capability % 10, device->multiprocessors);
  info.target = target;
  info.multiprocessors = device->multiprocessors;
  info.shared_bytes_per_block = int64_t{device->shared_kib} << 10;
  info.memory_bytes = int64_t{device->memory_gib} << 30;
  info.warp_size = 32;
  return info;
}

}  // namespace ffpa_jit::cli
