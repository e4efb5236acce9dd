#include "emulator/instructions/program.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "base/float16.h"
#include "emulator/kernel_text.h"

namespace ffpa_jit::testing {

KernelBinary compile(const Program& program, const Target& target) {
  std::string head = "struct Params { const unsigned* in; unsigned* out; ";
  if (!program.maps.empty()) head += fmt::format("TensorMap maps[{}]; ", program.maps.size());
  return compile_kernel(target, head + "};\n" + program.kernel);
}

Words run(const Program& program, Device& device) {
  return run(program, device, *device.load(compile(program, device.info().target)));
}

Words run(const Program& program, Device& device, const LoadedKernel& kernel) {
  Words out(program.expected.size(), 0xdeadbeefu);
  const size_t in_bytes = program.input.size() * 4, out_bytes = out.size() * 4;
  struct {
    void* in;
    void* out;
    TensorMap maps[4];
  } params{device.allocate(in_bytes, nullptr), device.allocate(out_bytes, nullptr), {}};
  device.copy_to_device(params.in, program.input.data(), in_bytes, nullptr);
  device.copy_to_device(params.out, out.data(), out_bytes, nullptr);
  LaunchGeometry geometry;
  geometry.block.x = program.threads;
  geometry.grid.x = program.blocks;
  geometry.cluster.x = program.cluster;
  geometry.dynamic_shared_bytes = program.dynamic_shared_bytes;
  const size_t params_bytes =
      program.maps.empty() ? 16 : 64 + program.maps.size() * sizeof(TensorMap);
  std::exception_ptr failed;
  try {
    for (size_t i = 0; i < program.maps.size(); ++i) {
      TensorMapSpec spec = program.maps[i].spec;
      spec.address = static_cast<char*>(program.maps[i].of_output ? params.out : params.in) +
                     program.maps[i].offset;
      params.maps[i] = device.encode_tensor_map(spec);
    }
    device.launch(kernel, geometry, std::as_bytes(std::span(&params, 1)).first(params_bytes),
                  nullptr);
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

// FNV-1a, 64 bits.
std::string digest(const Words& words) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (word >> shift & 0xff)) * 0x100000001b3u;
  }
  return fmt::format("{} words {:016x}", words.size(), hash);
}

constexpr size_t kManyWords = 512;

}  // namespace

nlohmann::ordered_json recorded(const Words& words, bool exact) {
  if (exact && words.size() > kManyWords) return digest(words);
  return words;
}

bool is_recorded(const nlohmann::ordered_json& record, const Words& words) {
  return record.is_string() ? record.get<std::string>() == digest(words)
                            : record.get<Words>() == words;
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
