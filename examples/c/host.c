/* A C host: one attention call on the CPU.
 *
 *   cc host.c $(pkg-config --cflags --libs ffpa_jit) -o host && ./host */
#include <stdio.h>

#include "ffpa_jit/ffpa_jit.h"

enum { B = 1, H = 2, N = 16, D = 64 };

static float q[B * H * N * D], k[B * H * N * D], v[B * H * N * D], o[B * H * N * D];

static ffpa_jit_tensor tensor(float* data) {
  ffpa_jit_tensor t = {data, FFPA_JIT_FP32, 4, {B, H, N, D}, {H * N * D, N * D, D, 1}};
  return t;
}

int main(void) {
  for (int i = 0; i < B * H * N * D; ++i) {
    q[i] = (float)(i % 7) - 3;
    k[i] = (float)(i % 5) - 2;
    v[i] = (float)(i % 3) - 1;
  }

  ffpa_jit_runtime* runtime = NULL;
  if (ffpa_jit_runtime_create(NULL, &runtime) != FFPA_JIT_OK) {
    fprintf(stderr, "%s\n", ffpa_jit_last_error());
    return 1;
  }

  ffpa_jit_attention_args args = FFPA_JIT_ATTENTION_ARGS_INIT;
  args.device_kind = FFPA_JIT_CPU;
  args.q = tensor(q);
  args.k = tensor(k);
  args.v = tensor(v);
  args.o = tensor(o);
  args.is_causal = 1;
  const ffpa_jit_status status = ffpa_jit_attention_forward(runtime, &args);
  if (status != FFPA_JIT_OK) {
    fprintf(stderr, "%s: %s\n", ffpa_jit_status_name(status), ffpa_jit_last_error());
  } else {
    /* The first row of a causal call sees one key: its output is the first row of V. */
    printf("o[0][0][0][0..3] = %g %g %g %g\n", o[0], o[1], o[2], o[3]);
  }

  ffpa_jit_runtime_destroy(runtime);
  return status == FFPA_JIT_OK && o[0] == v[0] && o[3] == v[3] ? 0 : 1;
}
