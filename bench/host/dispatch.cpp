// What one warm call costs on the host, without the launch: checks, key, look-up. Budget: 1 us.
#include <benchmark/benchmark.h>

#include <vector>

#include "ffpa_jit/ffpa_jit.hpp"

namespace {

struct Call {
  explicit Call(int64_t batch) {
    constexpr int64_t H = 32, HKV = 8, N = 16, D = 64;
    data.resize(static_cast<size_t>(H * N * D));
    args.q = args.o = ffpa::tensor(data.data(), FFPA_JIT_FP32, {batch, H, N, D});
    args.k = args.v = ffpa::tensor(data.data(), FFPA_JIT_FP32, {batch, HKV, N, D});
    args.is_causal = 1;
  }
  std::vector<float> data;
  ffpa::Attention args;
};

// An empty batch: everything of a call but the launch itself.
void WarmCallWithoutLaunch(benchmark::State& state) {
  ffpa::Runtime runtime;
  Call call(0);
  for (auto _ : state) {
    if (ffpa_jit_attention_forward(runtime.get(), &call.args) != FFPA_JIT_OK) {
      state.SkipWithError(ffpa_jit_last_error());
      return;
    }
  }
}
BENCHMARK(WarmCallWithoutLaunch)->ThreadRange(1, 2);

}  // namespace
