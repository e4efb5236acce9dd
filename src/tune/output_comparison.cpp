#include "tune/output_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float16.h"

namespace ffpa_jit {
namespace {

constexpr size_t kPiece = 1024;  // elements: a few rows of a tile

// Root-mean-square difference over root-mean-square value that two roundings of one result stay
// below: rounding P and O to the type, each in its own order. A piece holds few rows and may be of
// small numbers: it is measured against the whole.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return 2e-2;
    case DType::kFp16:
      return 3e-3;
    default:
      return 1e-4;
  }
}

float element(std::span<const std::byte> data, size_t index, DType dtype) {
  if (dtype == DType::kFp32) {
    float value;
    std::memcpy(&value, data.data() + 4 * index, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data.data() + 2 * index, sizeof(bits));
  return dtype == DType::kBf16 ? float_from_bf16(bits) : float_from_fp16(bits);
}

struct Sums {
  double value = 0, difference = 0;
  size_t count = 0;
};

}  // namespace

std::string compare_outputs(std::span<const std::byte> expected, std::span<const std::byte> got,
                            DType dtype) {
  const size_t count = expected.size() / bytes_of(dtype);
  if (expected.size() != got.size()) return "the outputs have other sizes";
  Sums all;
  double worst = 0;
  size_t worst_at = 0;
  for (size_t begin = 0; begin < count; begin += kPiece) {
    Sums piece;
    const size_t end = std::min(begin + kPiece, count);
    for (size_t i = begin; i < end; ++i) {
      const double a = element(expected, i, dtype), b = element(got, i, dtype);
      if (!std::isfinite(a) || !std::isfinite(b)) {
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        return fmt::format("element {} is {}, the default config has {}", i, b, a);
      }
      piece.value += a * a;
      piece.difference += (a - b) * (a - b);
      ++piece.count;
    }
    all.value += piece.value;
    all.difference += piece.difference;
    all.count += piece.count;
    const double error =
        piece.count ? std::sqrt(piece.difference / static_cast<double>(piece.count)) : 0;
    if (error > worst) {
      worst = error;
      worst_at = begin;
    }
  }
  if (all.count == 0 || all.difference == 0) return "";
  const double size = std::sqrt(all.value / static_cast<double>(all.count));
  const double error = std::sqrt(all.difference / static_cast<double>(all.count));
  const double tolerance = tolerance_of(dtype);
  // A row that sees few keys is larger than the others, and its rounding with it.
  constexpr double kPieceFactor = 16;
  if (error > tolerance * size) {
    return fmt::format("the outputs differ by {:.2g} of their size, allowed {:.2g}", error / size,
                       tolerance);
  }
  if (worst > kPieceFactor * tolerance * size) {
    return fmt::format("elements from {} on differ by {:.2g} of the outputs' size, allowed {:.2g}",
                       worst_at, worst / size, kPieceFactor * tolerance);
  }
  return "";
}

}  // namespace ffpa_jit
