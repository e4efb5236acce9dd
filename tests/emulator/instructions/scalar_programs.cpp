// Conversions and single floating-point instructions, on values around every boundary of the
// formats.
#include <bit>
#include <cmath>

#include "base/float16.h"
#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

// Values a step below, on and above each power of two and each half step between fp16 or bf16
// neighbours there.
Words boundary_floats() {
  Words out;
  for (uint32_t exponent = 0; exponent < 256; exponent += 1) {
    for (uint32_t mantissa :
         {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0x7fffu, 0x8000u, 0x8001u,
          0x18000u, 0x7fe000u, 0x7fefffu, 0x7ff000u, 0x7f7fffu, 0x7f8000u, 0x7fffffu}) {
      const uint32_t word = exponent << 23 | mantissa;
      if (exponent == 255 && mantissa != 0) continue;
      out.push_back(word);
      out.push_back(word | 0x80000000u);
    }
  }
  while (out.size() % 32) out.push_back(0);
  return out;
}

template <typename Expected>
Program map(const std::string& name, int capability, const std::string& expression,
            const Words& input, Agreement agreement, Expected&& expected) {
  Program program;
  program.name = name;
  program.capability = capability;
  program.input = input;
  program.agreement = agreement;
  for (uint32_t word : input) program.expected.push_back(expected(word));
  program.kernel =
      "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n"
      "  for (unsigned i = threadIdx.x; i < " +
      std::to_string(input.size()) +
      "; i += 32) {\n"
      "    const unsigned word = params.in[i];\n"
      "    const float value = __builtin_bit_cast(float, word);\n"
      "    params.out[i] = " +
      expression + ";\n  }\n}\n";
  return program;
}

float of(uint32_t word) { return std::bit_cast<float>(word); }
uint32_t word_of(float value) { return std::bit_cast<uint32_t>(value); }
float flushed(float value) {
  return std::abs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

}  // namespace

std::vector<Program> scalar_programs() {
  const Words floats = boundary_floats();
  Words halves;
  for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
    if ((bits & 0x7fff) <= 0x7c00) halves.push_back(bits);
  }
  Words exponents;
  for (int i = -4000; i <= 4000; i += 5)
    exponents.push_back(word_of(static_cast<float>(i) / 27.0f));
  return {
      map("cvt_rn_f16_f32", 75, "cvt_rn_f16_f32(value)", floats, Agreement::kBits,
          [](uint32_t word) { return uint32_t{fp16_from_float(of(word))}; }),
      map("cvt_rn_bf16_f32", 75, "cvt_rn_bf16_f32(value)", floats, Agreement::kBits,
          [](uint32_t word) { return uint32_t{bf16_from_float(of(word))}; }),
      map("cvt_rn_f16x2_f32", 80, "cvt_rn_f16x2_f32(value, -value)", floats, Agreement::kBits,
          [](uint32_t word) {
            return fp16_from_float(of(word)) | uint32_t{fp16_from_float(-of(word))} << 16;
          }),
      map("cvt_rn_bf16x2_f32", 80, "cvt_rn_bf16x2_f32(value, -value)", floats, Agreement::kBits,
          [](uint32_t word) {
            return bf16_from_float(of(word)) | uint32_t{bf16_from_float(-of(word))} << 16;
          }),
      map("cvt_f32_f16", 75, "__builtin_bit_cast(unsigned, cvt_f32_f16((unsigned short)word))",
          halves, Agreement::kBits,
          [](uint32_t word) { return word_of(float_from_fp16(static_cast<uint16_t>(word))); }),
      map("cvt_f32_bf16", 75, "__builtin_bit_cast(unsigned, cvt_f32_bf16((unsigned short)word))",
          halves, Agreement::kBits, [](uint32_t word) { return word << 16; }),
      map("fma_rn", 75, "__builtin_bit_cast(unsigned, fma_rn(value, 1.0000001f, -0.33333334f))",
          floats, Agreement::kBits,
          [](uint32_t word) { return word_of(std::fma(of(word), 1.0000001f, -0.33333334f)); }),
      map("max_f32", 75, "__builtin_bit_cast(unsigned, max_f32(value, 1.5f))", floats,
          Agreement::kBits, [](uint32_t word) { return word_of(std::fmax(of(word), 1.5f)); }),
      map("ex2_approx", 75, "__builtin_bit_cast(unsigned, ex2_approx(value))", exponents,
          Agreement::kUlps,
          [](uint32_t word) {
            return word_of(flushed(static_cast<float>(std::exp2(double{of(word)}))));
          }),
      map("rcp_approx", 75, "__builtin_bit_cast(unsigned, rcp_approx(value))", floats,
          Agreement::kUlps,
          [](uint32_t word) { return word_of(flushed(1.0f / flushed(of(word)))); })};
}

std::vector<Program> programs() {
  std::vector<Program> all = matrix_programs();
  for (auto part : {exchange_programs(), scalar_programs(), atomic_programs(), barrier_programs(),
                    bulk_copy_programs(), cluster_programs(), warpgroup_programs()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace ffpa_jit::testing
