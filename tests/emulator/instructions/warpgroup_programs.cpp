// wgmma. Operands are placed in shared memory as PTX ISA's canonical layouts state ("Asynchronous
// Warpgroup Level Matrix Shared Memory Layout"), fragments as its figures; products are summed in
// double.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "base/float16.h"
#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

constexpr int kRows = 64, kStep = 16;

struct Layout {
  int span = 128;  // bytes of a swizzled row; 16: no swizzle
  bool mn_major = false;
};

struct Case {
  std::string name;
  bool bf16 = true;
  int columns = 64;
  Layout a, b;
  bool a_in_registers = false;
  bool exact = true;        // small whole numbers
  bool accumulates = true;  // from the first step on; else the accumulator begins as NaN
  int steps = 0;            // of k = 16; 0: as many as a K-major row of A or B holds
  int first_row = 0;        // of A, inside a pattern of 8
};

// An operand of `count` rows (columns) and `depth` k in shared memory.
struct Placement {
  Layout layout;
  int count, depth;

  int chunks() const { return layout.span / 16; }
  int leading() const {  // bytes
    if (layout.mn_major) return layout.span == 16 ? count / 8 * 128 : depth / 8 * 8 * layout.span;
    return layout.span == 16 ? count / 8 * 128 : 16;
  }
  int stride() const {
    if (layout.mn_major) return layout.span == 16 ? 128 : 8 * layout.span;
    return layout.span == 16 ? 128 : 8 * layout.span;
  }
  int bytes() const {
    const int plain = 2 * count * depth;
    if (!layout.mn_major) return layout.span == 16 ? plain : count * layout.span;
    return (count * 2 + layout.span - 1) / layout.span * layout.span * depth;
  }
  // From one step of k to the next.
  int advance() const {
    if (!layout.mn_major) return layout.span == 16 ? 2 * leading() : 32;
    return layout.span == 16 ? 2 * leading() : 2 * stride();
  }
  int byte_of(int mn, int k) const {
    if (layout.span == 16) {
      // Cores of 8 x 8 elements in 128 bytes, 16 to a row of the major direction.
      if (layout.mn_major) return mn / 8 * stride() + k / 8 * leading() + k % 8 * 16 + mn % 8 * 2;
      return mn / 8 * stride() + k / 8 * leading() + mn % 8 * 16 + k % 8 * 2;
    }
    // Atoms of 8 rows; a row's chunks of 16 bytes change places by the row, 128 bytes counting as
    // one.
    const int along = layout.mn_major ? mn : k, across = layout.mn_major ? k : mn;
    const int per_row = layout.span / 2;
    const int chunk = along % per_row / 8 ^ across % 8 * chunks() / 8;
    const int block = layout.mn_major ? along / per_row * leading() : 0;
    return block + across / 8 * stride() + across % 8 * layout.span + chunk * 16 + along % 8 * 2;
  }
};

double decode(bool bf16, uint16_t bits) {
  return bf16 ? float_from_bf16(bits) : float_from_fp16(bits);
}

Program multiply(const Case& test, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto element = [&] {
    const float value =
        test.exact ? static_cast<float>(static_cast<int>(random() % 7) - 3) : normal(random);
    return test.bf16 ? bf16_from_float(value) : fp16_from_float(value);
  };
  int steps = test.steps;
  if (steps == 0) {
    steps = 4;
    for (const Layout& layout : {test.a, test.b})
      if (!layout.mn_major) steps = std::min(steps, std::max(1, layout.span / 32));
    if (test.a_in_registers) steps = 1;
  }
  const int depth = steps * kStep;
  const Placement a_place{test.a, kRows + test.first_row, depth},
      b_place{test.b, test.columns, depth};
  const int a_bytes = test.a_in_registers ? 0 : (a_place.bytes() + 1023) / 1024 * 1024;
  const int b_bytes = (b_place.bytes() + 1023) / 1024 * 1024;
  std::vector<uint16_t> memory(static_cast<size_t>(a_bytes + b_bytes) / 2, 0x7fff);
  std::vector<double> a(static_cast<size_t>(kRows) * depth),
      b(static_cast<size_t>(test.columns) * depth);

  Program program;
  program.name = "wgmma_" + test.name;
  program.capability = 90;
  program.threads = 128;
  program.dynamic_shared_bytes = static_cast<uint32_t>(a_bytes + b_bytes);
  program.agreement = test.exact ? Agreement::kBits : Agreement::kFp32;
  Words registers(test.a_in_registers ? 512 : 0);
  for (int m = 0; m < kRows; ++m) {
    for (int k = 0; k < depth; ++k) {
      const uint16_t bits = element();
      a[m * depth + k] = decode(test.bf16, bits);
      if (!test.a_in_registers) {
        memory[a_place.byte_of(m + test.first_row, k) / 2] = bits;
        continue;
      }
      // Thread 32 (m / 16) + 4 (m % 8) + k % 8 / 2: register 2 (k / 8) + (m % 16) / 8, half k % 2.
      const int thread = m / 16 * 32 + m % 8 * 4 + k % 8 / 2, which = k / 8 * 2 + m % 16 / 8;
      registers[thread * 4 + which] |= uint32_t{bits} << 16 * (k % 2);
    }
  }
  for (int n = 0; n < test.columns; ++n) {
    for (int k = 0; k < depth; ++k) {
      const uint16_t bits = element();
      b[n * depth + k] = decode(test.bf16, bits);
      memory[(a_bytes + b_place.byte_of(n, k)) / 2] = bits;
    }
  }
  const int per_thread = test.columns / 2;
  Words accumulators(static_cast<size_t>(128) * per_thread);
  program.expected.resize(accumulators.size());
  double largest = 1;
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < per_thread; ++i) {
      // "The thread T of warp W holds rows 16 W + T / 4 and 8 below, columns 8 j + 2 (T % 4) and
      // the next."
      const int row = thread / 32 * 16 + thread % 32 / 4 + (i % 4 >= 2 ? 8 : 0);
      const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      const double before = test.accumulates ? static_cast<int>(random() % 200) - 100 : 0;
      double sum = before, magnitude = std::abs(before);
      for (int k = 0; k < depth; ++k) {
        const double product = a[row * depth + k] * b[column * depth + k];
        sum += product;
        magnitude += std::abs(product);
      }
      largest = std::max(largest, magnitude);
      const size_t at = static_cast<size_t>(thread) * per_thread + i;
      accumulators[at] =
          test.accumulates ? std::bit_cast<uint32_t>(static_cast<float>(before)) : 0x7fc00000u;
      program.expected[at] = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
  }
  program.magnitude = largest;

  const uint32_t shared_words = program.dynamic_shared_bytes / 4;
  program.input.resize(shared_words);
  std::memcpy(program.input.data(), memory.data(), program.dynamic_shared_bytes);
  program.input.insert(program.input.end(), registers.begin(), registers.end());
  program.input.insert(program.input.end(), accumulators.begin(), accumulators.end());

  const auto swizzle = [](const Layout& layout) {
    return layout.span == 128  ? "kWgmmaSwizzle128"
           : layout.span == 64 ? "kWgmmaSwizzle64"
           : layout.span == 32 ? "kWgmmaSwizzle32"
                               : "kWgmmaNoSwizzle";
  };
  const auto descriptor = [&](const Placement& place, int offset) {
    return "wgmma_descriptor(wgmma_descriptor_low(shared + " + std::to_string(offset) +
           " + step * " + std::to_string(place.advance()) + ", " + std::to_string(place.leading()) +
           "), wgmma_descriptor_high(" + std::to_string(place.stride()) + ", " +
           swizzle(place.layout) + "))";
  };
  const std::string d = std::to_string(per_thread), columns = std::to_string(test.columns);
  const std::string function = "wgmma_m64n" + columns + "k16_f32_" + (test.bf16 ? "bf16" : "f16");
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::string call = "    " + function;
  if (test.a_in_registers) {
    call += std::string("<") + flag(test.b.mn_major) + ">(d, a[0], a[1], a[2], a[3], ";
  } else {
    call += std::string("<") + flag(test.a.mn_major) + ", " + flag(test.b.mn_major) + ">(d, " +
            descriptor(a_place, test.first_row * test.a.span) + ", ";
  }
  call += descriptor(b_place, a_bytes) + ", " + (test.accumulates ? "true" : "step > 0") + ");\n";
  program.kernel =
      std::string(kKernelLine) +
      "  const unsigned t = threadIdx.x, shared = dynamic_shared();\n"
      "  for (unsigned i = t; i < " +
      std::to_string(shared_words) +
      "; i += 128) st_shared_u32(shared + 4 * i, params.in[i]);\n"
      "  const unsigned* in = params.in + " +
      std::to_string(shared_words) + ";\n" +
      (test.a_in_registers
           ? "  const unsigned a[4] = {in[4 * t], in[4 * t + 1], in[4 * t + 2], in[4 * t + 3]};\n  "
             "in += 512;\n"
           : "") +
      "  float d[" + d + "];\n  _Pragma(\"unroll\") for (int i = 0; i < " + d +
      "; ++i) d[i] = __builtin_bit_cast(float, in[t * " + d +
      " + i]);\n"
      "  fence_proxy_async_shared();\n  bar_sync();\n  wgmma_fence();\n"
      "  _Pragma(\"unroll\") for (unsigned step = 0; step < " +
      std::to_string(steps) + "; ++step) {\n" + call +
      "  }\n  wgmma_commit_group();\n  wgmma_wait_group<0>();\n"
      "  _Pragma(\"unroll\") for (int i = 0; i < " +
      d + "; ++i) params.out[t * " + d + " + i] = __builtin_bit_cast(unsigned, d[i]);\n}\n";
  return program;
}

std::string layout_name(const Layout& layout) {
  std::string name = layout.mn_major ? "mn" : "k";
  if (layout.span != 16) name += std::to_string(layout.span);
  return name;
}

}  // namespace

std::vector<Program> warpgroup_programs() {
  std::vector<Case> cases;
  for (int columns = 8; columns <= 256; columns += 8) {
    Case test;
    test.columns = columns;
    test.bf16 = columns % 16 == 0;
    test.steps = 1;
    test.b.mn_major = columns % 64 == 0;
    test.name = "n" + std::to_string(columns);
    cases.push_back(test);
  }
  for (int span : {16, 32, 64, 128}) {
    for (bool a_mn : {false, true}) {
      for (bool b_mn : {false, true}) {
        Case test;
        test.a = {span, a_mn};
        test.b = {span, b_mn};
        test.columns = 128;
        test.name = "a_" + layout_name(test.a) + "_b_" + layout_name(test.b);
        cases.push_back(test);
      }
    }
    for (bool b_mn : {false, true}) {
      Case test;
      test.a_in_registers = true;
      test.b = {span, b_mn};
      test.bf16 = b_mn;
      test.name = "a_registers_b_" + layout_name(test.b);
      cases.push_back(test);
    }
  }
  for (bool bf16 : {false, true}) {
    Case test;
    test.bf16 = bf16;
    test.exact = false;
    test.columns = 32;
    test.name = bf16 ? "bf16_random" : "f16_random";
    cases.push_back(test);
    test.exact = true;
    test.accumulates = false;
    test.name = bf16 ? "bf16_from_zero" : "f16_from_zero";
    cases.push_back(test);
  }
  Case inside;
  inside.first_row = 4;
  inside.name = "inside_pattern";
  cases.push_back(inside);
  std::vector<Program> out;
  uint32_t seed = 100;
  for (const Case& test : cases) out.push_back(multiply(test, seed++));
  return out;
}

}  // namespace ffpa_jit::testing
