// mma.sync, ldmatrix, stmatrix. Fragments are laid out element by element as PTX ISA's "Matrix
// Fragments for mma.m16n8k8, m16n8k16, m16n8k32" state rows and columns, products are summed in
// double.
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "base/float16.h"
#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

enum class Format { kF16, kBf16, kTf32, kE4m3, kE5m2, kS8, kU8 };

int bits_of(Format format) {
  return format == Format::kTf32 ? 32 : format == Format::kF16 || format == Format::kBf16 ? 16 : 8;
}

double decode(Format format, uint32_t bits) {
  // Sign, exponent, mantissa of the 8-bit formats (OCP 8-bit floating point specification, table
  // 1).
  const auto eight = [&](int mantissa_bits, int bias) {
    const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
    const int exponent =
        static_cast<int>(bits >> mantissa_bits & ((1u << (7 - mantissa_bits)) - 1));
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                           : std::ldexp((1 << mantissa_bits) + mantissa,
                                                        exponent - bias - mantissa_bits);
    return bits & 0x80 ? -magnitude : magnitude;
  };
  switch (format) {
    case Format::kF16:
      return float_from_fp16(static_cast<uint16_t>(bits));
    case Format::kBf16:
      return float_from_bf16(static_cast<uint16_t>(bits));
    case Format::kTf32:
      return std::bit_cast<float>(bits & 0xffffe000u);
    case Format::kE4m3:
      return eight(3, 7);
    case Format::kE5m2:
      return eight(2, 15);
    case Format::kS8:
      return static_cast<int8_t>(bits);
    case Format::kU8:
      return static_cast<uint8_t>(bits);
  }
  return 0;
}

// A random element; exact: a small whole number, so that every order of summation agrees.
uint32_t draw(Format format, bool exact, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const float value =
      exact ? static_cast<float>(static_cast<int>(random() % 9) - 4) : normal(random);
  switch (format) {
    case Format::kF16:
      return fp16_from_float(value);
    case Format::kBf16:
      return bf16_from_float(value);
    case Format::kTf32:
      return std::bit_cast<uint32_t>(value);  // with low bits, which must not matter
    case Format::kE4m3:
    case Format::kE5m2: {
      const uint32_t largest = format == Format::kE4m3 ? 0x7e : 0x7b;
      uint32_t bits = 0;
      do bits = random() & 0xff;
      while ((bits & 0x7f) > largest ||
             (exact && (decode(format, bits) != std::round(decode(format, bits)) ||
                        std::abs(decode(format, bits)) > 8)));
      return bits;
    }
    case Format::kS8:
    case Format::kU8:
      return random() & 0xff;
  }
  return 0;
}

struct Position {
  int row, column;
};

Position a_position(int depth, int lane, int i) {
  const int group = lane >> 2, in_group = lane % 4;
  if (depth == 8) return {i == 0 || i == 2 ? group : group + 8, i < 2 ? in_group : in_group + 4};
  if (depth == 16)
    return {i < 2 || (i >= 4 && i < 6) ? group : group + 8,
            in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  return {i < 4 || (i >= 8 && i < 12) ? group : group + 8,
          in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}

Position b_position(int depth, int lane, int i) {
  const int group = lane >> 2, in_group = lane % 4;
  if (depth == 8) return {i == 0 ? in_group : in_group + 4, group};
  if (depth == 16) return {in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
  return {in_group * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
}

Position c_position(int lane, int i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, (lane % 4) * 2 + (i & 1)};
}

struct Shape {
  const char* function;
  int capability, depth;
  Format a, b;
  enum { kFp32, kFp16, kInt32 } accumulator;
};

Program multiply(const Shape& shape, bool exact, uint32_t seed) {
  std::mt19937 random(seed);
  const int a_count = 16 * shape.depth / 32, b_count = 8 * shape.depth / 32,
            bits = bits_of(shape.a);
  const int c_words = shape.accumulator == Shape::kFp16 ? 2 : 4;
  const int per_lane = 6 + c_words;
  Program program;
  program.name = std::string(shape.function) + (exact ? "_exact" : "_random");
  program.capability = shape.capability;
  program.agreement = exact || shape.accumulator == Shape::kInt32 ? Agreement::kBits
                      : shape.accumulator == Shape::kFp16         ? Agreement::kFp16x2
                                                                  : Agreement::kFp32;
  program.input.assign(32 * per_lane, 0);
  std::array<std::array<double, 32>, 16> a{};
  std::array<std::array<double, 8>, 32> b{};
  std::array<std::array<double, 8>, 16> d{};
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t* words = &program.input[lane * per_lane];
    for (int i = 0; i < a_count; ++i) {
      const uint32_t element = draw(shape.a, exact, random);
      words[i * bits / 32] |= element << (i * bits % 32);
      const Position at = a_position(shape.depth, lane, i);
      a[at.row][at.column] = decode(shape.a, element);
    }
    for (int i = 0; i < b_count; ++i) {
      const uint32_t element = draw(shape.b, exact, random);
      words[4 + i * bits / 32] |= element << (i * bits % 32);
      const Position at = b_position(shape.depth, lane, i);
      b[at.row][at.column] = decode(shape.b, element);
    }
    for (int i = 0; i < 4; ++i) {
      const int whole = static_cast<int>(random() % 2000) - 1000;
      const double value = exact || shape.accumulator == Shape::kInt32
                               ? whole / (shape.accumulator == Shape::kFp16 ? 10 : 1)
                               : whole / 256.0;
      const Position at = c_position(lane, i);
      d[at.row][at.column] = value;
      if (shape.accumulator == Shape::kFp32)
        words[6 + i] = std::bit_cast<uint32_t>(static_cast<float>(value));
      if (shape.accumulator == Shape::kInt32) words[6 + i] = static_cast<uint32_t>(whole);
      if (shape.accumulator == Shape::kFp16)
        words[6 + i / 2] |= uint32_t{fp16_from_float(static_cast<float>(value))} << 16 * (i % 2);
    }
  }
  double largest = 1;
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n) {
      double magnitude = std::abs(d[m][n]);
      for (int k = 0; k < shape.depth; ++k) {
        d[m][n] += a[m][k] * b[k][n];
        magnitude += std::abs(a[m][k] * b[k][n]);
      }
      largest = std::max(largest, magnitude);
    }
  }
  program.magnitude = largest;
  program.expected.assign(32 * c_words, 0);
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t* words = &program.expected[lane * c_words];
    for (int i = 0; i < 4; ++i) {
      const Position at = c_position(lane, i);
      const double value = d[at.row][at.column];
      if (shape.accumulator == Shape::kFp32)
        words[i] = std::bit_cast<uint32_t>(static_cast<float>(value));
      if (shape.accumulator == Shape::kInt32)
        words[i] = static_cast<uint32_t>(static_cast<int64_t>(value));
      if (shape.accumulator == Shape::kFp16)
        words[i / 2] |= uint32_t{fp16_from_float(static_cast<float>(value))} << 16 * (i % 2);
    }
  }
  const std::string type = shape.accumulator == Shape::kFp32   ? "float"
                           : shape.accumulator == Shape::kFp16 ? "unsigned"
                                                               : "int";
  const std::string words = std::to_string(c_words), stride = std::to_string(per_lane);
  program.kernel =
      "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n"
      "  const unsigned* in = params.in + threadIdx.x * " +
      stride +
      ";\n"
      "  unsigned a[4] = {in[0], in[1], in[2], in[3]};\n"
      "  " +
      type + " d[" + words +
      "];\n"
      "  for (int i = 0; i < " +
      words + "; ++i) d[i] = __builtin_bit_cast(" + type +
      ", in[6 + i]);\n"
      "  " +
      shape.function +
      "(d, a, in[4], in[5]);\n"
      "  for (int i = 0; i < " +
      words + "; ++i) params.out[threadIdx.x * " + words +
      " + i] = __builtin_bit_cast(unsigned, d[i]);\n"
      "}\n";
  return program;
}

// `count` 8 x 8 matrices of 16-bit elements, stored as rows of 16 bytes in an order that lanes'
// addresses undo.
Program transfer(const std::string& function, int count, bool transposed, bool load) {
  Program program;
  program.name = function;
  program.capability = load ? 75 : 90;
  const auto element = [](int matrix, int row, int column) {
    return static_cast<uint32_t>(matrix * 0x4000 + row * 0x100 + column + 1);
  };
  const auto slot = [&](int matrix, int row) { return (matrix * 8 + row) * 5 % (8 * count); };
  Words memory(count * 32), fragments(32 * count);
  for (int matrix = 0; matrix < count; ++matrix) {
    for (int row = 0; row < 8; ++row) {
      for (int pair = 0; pair < 4; ++pair) {
        memory[slot(matrix, row) * 4 + pair] =
            element(matrix, row, 2 * pair) | element(matrix, row, 2 * pair + 1) << 16;
      }
    }
  }
  // "Each thread loads a fragment of a row": thread T has elements 2 (T % 4) and the next of row T
  // / 4.
  for (int lane = 0; lane < 32; ++lane) {
    for (int matrix = 0; matrix < count; ++matrix) {
      const int row = lane / 4, column = lane % 4 * 2;
      fragments[lane * count + matrix] =
          transposed ? element(matrix, column, row) | element(matrix, column + 1, row) << 16
                     : element(matrix, row, column) | element(matrix, row, column + 1) << 16;
    }
  }
  const std::string n = std::to_string(count), words = std::to_string(count * 32),
                    rows = std::to_string(8 * count);
  const std::string address =
      "dynamic_shared() + (threadIdx.x % " + rows + ") * 5 % " + rows + " * 16";
  program.dynamic_shared_bytes = static_cast<uint32_t>(count * 128);
  program.kernel =
      "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n  "
      "unsigned f[" +
      n + "];\n";
  if (load) {
    program.input = memory;
    program.expected = fragments;
    program.kernel += "  for (unsigned i = threadIdx.x; i < " + words +
                      "; i += 32) st_shared_u32(dynamic_shared() + 4 * i, params.in[i]);\n"
                      "  bar_sync();\n  " +
                      function + "(f, " + address +
                      ");\n"
                      "  for (int i = 0; i < " +
                      n + "; ++i) params.out[threadIdx.x * " + n + " + i] = f[i];\n}\n";
  } else {
    program.input = fragments;
    program.expected = memory;
    program.kernel += "  for (int i = 0; i < " + n + "; ++i) f[i] = params.in[threadIdx.x * " + n +
                      " + i];\n  " + function + "(" + address +
                      ", f);\n"
                      "  bar_sync();\n"
                      "  for (unsigned i = threadIdx.x; i < " +
                      words +
                      "; i += 32) params.out[i] = ld_shared_u32(dynamic_shared() + 4 * i);\n}\n";
  }
  return program;
}

}  // namespace

std::vector<Program> matrix_programs() {
  constexpr Shape kShapes[] = {
      {"mma_m16n8k16_f32_bf16", 80, 16, Format::kBf16, Format::kBf16, Shape::kFp32},
      {"mma_m16n8k16_f32_f16", 80, 16, Format::kF16, Format::kF16, Shape::kFp32},
      {"mma_m16n8k16_f16_f16", 80, 16, Format::kF16, Format::kF16, Shape::kFp16},
      {"mma_m16n8k8_f32_tf32", 80, 8, Format::kTf32, Format::kTf32, Shape::kFp32},
      {"mma_m16n8k32_f32_e4m3", 89, 32, Format::kE4m3, Format::kE4m3, Shape::kFp32},
      {"mma_m16n8k32_f32_e5m2", 89, 32, Format::kE5m2, Format::kE5m2, Shape::kFp32},
      {"mma_m16n8k32_s32_s8", 80, 32, Format::kS8, Format::kS8, Shape::kInt32},
      {"mma_m16n8k32_s32_u8_s8", 80, 32, Format::kU8, Format::kS8, Shape::kInt32}};
  std::vector<Program> out;
  uint32_t seed = 1;
  for (const Shape& shape : kShapes) {
    out.push_back(multiply(shape, true, seed++));
    out.push_back(multiply(shape, false, seed++));
  }
  out.push_back(transfer("ldmatrix_x1", 1, false, true));
  out.push_back(transfer("ldmatrix_x1_trans", 1, true, true));
  out.push_back(transfer("ldmatrix_x2", 2, false, true));
  out.push_back(transfer("ldmatrix_x2_trans", 2, true, true));
  out.push_back(transfer("ldmatrix_x4", 4, false, true));
  out.push_back(transfer("ldmatrix_x4_trans", 4, true, true));
  out.push_back(transfer("stmatrix_x4", 4, false, false));
  out.push_back(transfer("stmatrix_x4_trans", 4, true, false));
  return out;
}

}  // namespace ffpa_jit::testing
