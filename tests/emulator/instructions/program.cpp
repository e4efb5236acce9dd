#include "emulator/instructions/program.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "base/float16.h"
#include "emulator/kernel_text.h"

namespace ffpa_jit::testing {

Words run(const Program& program, Device& device) {
  static constexpr char kHead[] = "struct Params { const unsigned* in; unsigned* out; };\n";
  const auto kernel = load_kernel(device, std::string(kHead) + program.kernel);
  Words out(program.expected.size(), 0xdeadbeefu);
  const size_t in_bytes = program.input.size() * 4, out_bytes = out.size() * 4;
  struct {
    void* in;
    void* out;
  } params{device.allocate(in_bytes, nullptr), device.allocate(out_bytes, nullptr)};
  device.copy_to_device(params.in, program.input.data(), in_bytes, nullptr);
  device.copy_to_device(params.out, out.data(), out_bytes, nullptr);
  LaunchGeometry geometry;
  geometry.block.x = program.threads;
  geometry.dynamic_shared_bytes = program.dynamic_shared_bytes;
  std::exception_ptr failed;
  try {
    device.launch(*kernel, geometry, std::as_bytes(std::span(&params, 1)), nullptr);
    device.copy_to_host(out.data(), params.out, out_bytes, nullptr);
    device.synchronize(nullptr);
  } catch (...) {
    failed = std::current_exception();
  }
  device.release(params.in, nullptr);
  device.release(params.out, nullptr);
  if (failed) std::rethrow_exception(failed);
  return out;
}

namespace {

float half_of(uint32_t word, int i) {
  return float_from_fp16(static_cast<uint16_t>(word >> 16 * i));
}

int64_t ordered_bits(uint32_t word) {
  const auto bits = static_cast<int32_t>(word);
  return bits < 0 ? int64_t{INT32_MIN} - bits : bits;
}

bool agrees(const Program& program, uint32_t got, uint32_t want) {
  const float a = std::bit_cast<float>(got), b = std::bit_cast<float>(want);
  switch (program.agreement) {
    case Agreement::kBits:
      return got == want;
    case Agreement::kFp32:
      return got == want || std::abs(double{a} - b) <= 0x1p-18 * program.magnitude;
    case Agreement::kFp16x2:
      return std::abs(half_of(got, 0) - half_of(want, 0)) <= 0x1p-9 * program.magnitude &&
             std::abs(half_of(got, 1) - half_of(want, 1)) <= 0x1p-9 * program.magnitude;
    case Agreement::kUlps:
      return (std::isnan(a) && std::isnan(b)) ||
             std::abs(ordered_bits(got) - ordered_bits(want)) <= 2;
  }
  return false;
}

}  // namespace

std::string disagreement(const Program& program, const Words& out, const Words& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (agrees(program, out[i], expected[i])) continue;
    return fmt::format("word {}: {:#010x} ({}), expected {:#010x} ({})", i, out[i],
                       std::bit_cast<float>(out[i]), expected[i],
                       std::bit_cast<float>(expected[i]));
  }
  return "";
}

}  // namespace ffpa_jit::testing
