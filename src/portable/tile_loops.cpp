#include "portable/tile_loops.h"

#include <cstring>

namespace ffpa_jit::portable {
namespace {

// `always_inline` bodies take on the instruction set of the function they are inlined into.
#define FFPA_INLINE inline __attribute__((always_inline))

template <int kBytes>
struct Vector {
  typedef float Float __attribute__((vector_size(kBytes)));
  typedef int Int __attribute__((vector_size(kBytes)));
  static constexpr int kLanes = kBytes / 4;
};

// 4 rows by 2 vectors of accumulators: 8 registers, enough to hide the latency of a multiply-add.
template <int kBytes>
FFPA_INLINE void gemm_body(const float* a, int lda, const float* b, int ldb, float* c, int ldc,
                           int m, int n, int k, bool accumulate) {
  using Float = typename Vector<kBytes>::Float;
  constexpr int kLanes = Vector<kBytes>::kLanes;
  for (int column = 0; column < n; column += 2 * kLanes) {
    for (int row = 0; row < m; row += kRowBlock) {
      Float sum[kRowBlock][2];
      for (int r = 0; r < kRowBlock; ++r) {
        float* out = c + static_cast<long>(row + r) * ldc + column;
        if (accumulate) {
          std::memcpy(&sum[r][0], out, kBytes);
          std::memcpy(&sum[r][1], out + kLanes, kBytes);
        } else {
          sum[r][0] = sum[r][1] = Float{};
        }
      }
      const float* a_row = a + static_cast<long>(row) * lda;
      const float* b_row = b + column;
      for (int i = 0; i < k; ++i, b_row += ldb) {
        Float b0, b1;
        std::memcpy(&b0, b_row, kBytes);
        std::memcpy(&b1, b_row + kLanes, kBytes);
        for (int r = 0; r < kRowBlock; ++r) {
          const float x = a_row[static_cast<long>(r) * lda + i];
          sum[r][0] += x * b0;
          sum[r][1] += x * b1;
        }
      }
      for (int r = 0; r < kRowBlock; ++r) {
        float* out = c + static_cast<long>(row + r) * ldc + column;
        std::memcpy(out, &sum[r][0], kBytes);
        std::memcpy(out + kLanes, &sum[r][1], kBytes);
      }
    }
  }
}

// exp(t) = 2^n exp(r) with n = round(t / ln 2), |r| <= ln 2 / 2; ln 2 in two parts so that r keeps
// its accuracy; exp(r) by its Taylor polynomial of degree 7, whose remainder there is below 2^-27.
template <int kBytes>
FFPA_INLINE float exp_row_body(float* x, int count, float max) {
  using Float = typename Vector<kBytes>::Float;
  using Int = typename Vector<kBytes>::Int;
  constexpr int kLanes = Vector<kBytes>::kLanes;
  constexpr float kLog2e = 0x1.715476p+0f;
  constexpr float kLn2High = 0x1.62e4p-1f;  // few bits: its products with n are exact
  constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  constexpr float kRound = 0x1.8p23f;  // adding it leaves the integer in the low bits
  constexpr float kLowest = -85.0f;  // exp(-85) = 1.2e-37, the last whose scale is a normal number
  Float total = {};
  for (int i = 0; i < count; i += kLanes) {
    Float t;
    std::memcpy(&t, x + i, kBytes);
    t -= max;
    const Int keep = ~(t < kLowest);  // true for NaN: it must reach the output
    t = t < kLowest ? Float{} + kLowest : t;
    const Float shifted = t * kLog2e + kRound;
    const Float n = shifted - kRound;
    const Float r = (t - n * kLn2High) - n * kLn2Low;
    Float p = r * (1.0f / 5040) + (1.0f / 720);
    p = p * r + (1.0f / 120);
    p = p * r + (1.0f / 24);
    p = p * r + (1.0f / 6);
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const Float power = (Float)(((Int)shifted << 23) + (127 << 23));
    const Float result = (Float)((Int)(p * power) & keep);
    std::memcpy(x + i, &result, kBytes);
    total += result;
  }
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += total[lane];
  return sum;
}

#define FFPA_TILE_LOOPS(NAME, ATTRIBUTE, BYTES)                                                   \
  ATTRIBUTE void gemm_##NAME(const float* a, int lda, const float* b, int ldb, float* c, int ldc, \
                             int m, int n, int k, bool accumulate) {                              \
    gemm_body<BYTES>(a, lda, b, ldb, c, ldc, m, n, k, accumulate);                                \
  }                                                                                               \
  ATTRIBUTE float exp_row_##NAME(float* x, int count, float max) {                                \
    return exp_row_body<BYTES>(x, count, max);                                                    \
  }

FFPA_TILE_LOOPS(baseline, , 16)
#if defined(__x86_64__)
FFPA_TILE_LOOPS(avx2, __attribute__((target("avx2,fma"))), 32)
FFPA_TILE_LOOPS(avx512, __attribute__((target("avx512f"))), 64)
#endif

}  // namespace

TileLoopsList available_tile_loops() {
  TileLoopsList list{{{"baseline", {gemm_baseline, exp_row_baseline}}, {}, {}}, 1};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    list.items[list.count++] = {"avx2", {gemm_avx2, exp_row_avx2}};
  }
  if (__builtin_cpu_supports("avx512f")) {
    list.items[list.count++] = {"avx512", {gemm_avx512, exp_row_avx512}};
  }
#endif
  return list;
}

const TileLoops& tile_loops() {
  static const TileLoops best = [] {
    const TileLoopsList list = available_tile_loops();
    return list.items[list.count - 1].loops;
  }();
  return best;
}

}  // namespace ffpa_jit::portable
