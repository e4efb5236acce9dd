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
void warm_calls(benchmark::State& state, const Call& call) {
  ffpa::Runtime runtime;
  for (auto _ : state) {
    if (ffpa_jit_attention_forward(runtime.get(), &call.args) != FFPA_JIT_OK) {
      state.SkipWithError(ffpa_jit_last_error());
      return;
    }
  }
}
void WarmCallWithoutLaunch(benchmark::State& state) { warm_calls(state, Call(0)); }
BENCHMARK(WarmCallWithoutLaunch)->ThreadRange(1, 2);

void WarmCallWithScoreModifier(benchmark::State& state) {
  Call call(0);
  call.args.score_modifier =
      "t0[b, q] == t0[b, k] ? score - exp2(-8 * (h + 1) / nh) * (q + nk - nq - k) : -inf";
  call.args.modifier_tensors[0] = ffpa::tensor(call.data.data(), FFPA_JIT_INT32, {1, 16});
  warm_calls(state, call);
}
BENCHMARK(WarmCallWithScoreModifier)->ThreadRange(1, 2);

}  // namespace
