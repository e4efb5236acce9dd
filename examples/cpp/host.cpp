// A C++ host: one causal attention call with grouped queries and head dim 512 on the CPU.
//
//   c++ -std=c++20 host.cpp $(pkg-config --cflags --libs ffpa_jit) -o host && ./host
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include "ffpa_jit/ffpa_jit.hpp"

int main() try {
  constexpr int64_t B = 1, H = 4, HKV = 2, N = 32, D = 512;
  std::vector<float> q(B * H * N * D, 0.5f), k(B * HKV * N * D, 0.25f), v(B * HKV * N * D, 1.0f),
      o(q.size());

  ffpa::Runtime runtime;
  ffpa::Attention attention;
  attention.q = ffpa::tensor(q.data(), FFPA_JIT_FP32, {B, H, N, D});
  attention.k = ffpa::tensor(k.data(), FFPA_JIT_FP32, {B, HKV, N, D});
  attention.v = ffpa::tensor(v.data(), FFPA_JIT_FP32, {B, HKV, N, D});
  attention.o = ffpa::tensor(o.data(), FFPA_JIT_FP32, {B, H, N, D});
  attention.is_causal = true;

  const ffpa::Plan plan = runtime.prepare(attention);
  const ffpa_jit_plan_info info = plan.info();
  std::printf("%s on %s (%s): %s\n", info.family, info.device, info.target, info.reason);
  runtime.forward(attention);
  std::printf("o[0] = %g, o[last] = %g\n", o.front(), o.back());
  // Averages of ones.
  return std::abs(o.front() - 1) < 1e-5f && std::abs(o.back() - 1) < 1e-5f ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
