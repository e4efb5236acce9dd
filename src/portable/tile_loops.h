// The inner loops of the portable kernel: a small matrix product and a row of exponentials. Called
// by attention.cpp.
//
// Written once over the compiler's vector type; on x86-64 the same code is also compiled for AVX2
// and AVX-512 and the best is chosen when the program starts, so that the portable kernel needs no
// other build than the library's.
#pragma once

namespace ffpa_jit::portable {

// Padding that gemm() wants: rows of A and C to kRowBlock, columns of B and C to kColumnBlock.
inline constexpr int kRowBlock = 4;
inline constexpr int kColumnBlock = 32;

struct TileLoops {
  // C [m, n] (+)= A [m, k] B [k, n], row-major with the given row lengths; m a multiple of
  // kRowBlock, n of kColumnBlock; B and C 64-byte aligned, their row lengths multiples of 16.
  void (*gemm)(const float* a, int lda, const float* b, int ldb, float* c, int ldc, int m, int n,
               int k, bool accumulate);
  // x[i] = exp(x[i] - max) in place, returns the sum; count a multiple of 16, x 64-byte aligned.
  // x[i] - max <= 0, -inf (gives 0) or NaN. Relative error below 2e-7; results below 1e-37 become
  // 0.
  float (*exp_row)(float* x, int count, float max);
};

const TileLoops& tile_loops();

// Every version that this processor can run, the plainest first: for tests.
struct NamedTileLoops {
  const char* name;
  TileLoops loops;
};
struct TileLoopsList {
  NamedTileLoops items[3];
  int count;
};
TileLoopsList available_tile_loops();

}  // namespace ffpa_jit::portable
