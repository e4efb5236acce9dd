// AMX-BF16 in software, for processors that have none: put before a kernel's source, it replaces
// the tile builtins by what the Intel SDM says of the instructions. For one thread; all tiles are
// 16 rows of 64 bytes.
static unsigned char emulated_tile[8][16][64];

static inline void emulate_tilezero(int t) {
  __builtin_memset(emulated_tile[t], 0, sizeof emulated_tile[t]);
}
static inline void emulate_tileload(int t, const void* from, long long stride) {
  for (int row = 0; row < 16; ++row)
    __builtin_memcpy(emulated_tile[t][row], (const char*)from + row * stride, 64);
}
static inline void emulate_tilestore(int t, void* to, long long stride) {
  for (int row = 0; row < 16; ++row)
    __builtin_memcpy((char*)to + row * stride, emulated_tile[t][row], 64);
}
static inline float emulated_bf16(int t, int row, int element) {
  unsigned short half;
  __builtin_memcpy(&half, &emulated_tile[t][row][2 * element], 2);
  return __builtin_bit_cast(float, (unsigned)half << 16);
}
// C[m][n] += sum over k of A[m][2k] * B[k][2n] + A[m][2k + 1] * B[k][2n + 1]
static inline void emulate_tdpbf16ps(int c, int a, int b) {
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 16; ++n) {
      float sum;
      __builtin_memcpy(&sum, &emulated_tile[c][m][4 * n], 4);
      for (int k = 0; k < 16; ++k) {
        sum += emulated_bf16(a, m, 2 * k) * emulated_bf16(b, k, 2 * n);
        sum += emulated_bf16(a, m, 2 * k + 1) * emulated_bf16(b, k, 2 * n + 1);
      }
      __builtin_memcpy(&emulated_tile[c][m][4 * n], &sum, 4);
    }
  }
}

#define __builtin_ia32_tile_loadconfig(config) ((void)(config))
#define __builtin_ia32_tilerelease() ((void)0)
#define __builtin_ia32_tilezero(t) emulate_tilezero(t)
#define __builtin_ia32_tileloadd64(t, from, stride) emulate_tileload(t, from, stride)
#define __builtin_ia32_tilestored64(t, to, stride) emulate_tilestore(t, to, stride)
#define __builtin_ia32_tdpbf16ps(c, a, b) emulate_tdpbf16ps(c, a, b)
