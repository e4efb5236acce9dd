#include "kernel/kernel_binary.h"

#include <limits>

#include "base/error.h"
#include "problem/canonical_text.h"

namespace ffpa_jit {
namespace {

struct Format {
  BinaryFormat format;
  std::string_view name;
};

constexpr Format kFormats[] = {
    {BinaryFormat::kCubin, "cubin"},
    {BinaryFormat::kElfSharedObject, "elf-so"},
    {BinaryFormat::kHsaCodeObject, "hsaco"},
};

// Calls visit(name, field) for each field in declaration order; the one list that text and parser
// share.
template <typename Resources, typename Visit>
void for_each_field(Resources& r, Visit visit) {
  visit("registers", r.registers);
  visit("spill_bytes", r.spill_bytes);
  visit("local_bytes", r.local_bytes);
  visit("static_shared_bytes", r.static_shared_bytes);
  visit("code_bytes", r.code_bytes);
}

constexpr std::string_view kAllowed =
    "registers=, spill_bytes=, local_bytes=, static_shared_bytes=, code_bytes=, in this order, "
    "each at most "
    "once";

}  // namespace

std::string_view name_of(BinaryFormat format) {
  for (const Format& f : kFormats) {
    if (f.format == format) return f.name;
  }
  return "unknown";
}

BinaryFormat binary_format_of(std::string_view name) {
  for (const Format& f : kFormats) {
    if (f.name == name) return f.format;
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "binary format is {}; allowed: cubin, elf-so, hsaco",
              in_quotes(name));
}

std::string text_of(const KernelResources& resources) {
  std::string text;
  for_each_field(resources, [&](std::string_view name, const auto& value) {
    if (value >= 0) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  });
  return text;
}

KernelResources parse_resources(std::string_view text) {
  CanonicalReader reader("kernel resources", text);
  KernelResources resources;
  for_each_field(resources, [&]<typename T>(std::string_view name, T& value) {
    if (const auto digits = reader.take_value(name)) {
      value = static_cast<T>(reader.to_integer(name, *digits, 0, std::numeric_limits<T>::max()));
    }
  });
  reader.finish(kAllowed);
  return resources;
}

}  // namespace ffpa_jit
