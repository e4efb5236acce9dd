// Every CUDA family that serves a problem with score modifiers, sinks, lengths or pages makes
// source of it that NVRTC takes, and that does not spill. No GPU is needed.
#include <gtest/gtest.h>

#include <string>

#include "templates/cuda/default_kernels.h"

namespace ffpa_jit::testing {
namespace {

struct Case {
  const char* name;
  const char* target;
  const char* problem;
  int64_t seqlen_q;
  int most_spilled = 0;
};

// Every function, operator and kind of operand.
constexpr Case kCases[] = {
    {"every_function", "sm_90a",
     "forward bf16 d=64 dv=64 group=2 layout=bhnd causal "
     "modifier=!(q<k)&&(h!=1||b==0)&&nk>=nq&&k<=9000&&k>-1?floor(score)*exp(-abs(score))+exp2(-"
     "score)/"
     "log(1.0+abs(score))+log2(2.0+max(score,0.0))-sqrt(abs(min(score,1.0)))+tanh(score)+float(int("
     "score)"
     "//(nh+1)%3*abs(min(q-k,max(h,b)))):-inf sinks seqlens_k lse",
     512},
    {"tensors", "sm_90a",
     "forward fp16 d=64 dv=64 group=1 layout=varlen "
     "modifier=t0[b,q]==t0[b,k]?score+t1[h,min(max(q+nk-nq-k+128,0),256)]*t2[b,h,q,k]+float(-t3[k//"
     "2]):-inf "
     "t0=int32:2 t1=fp32:2 t2=fp32:4 t3=int32:1 sinks",
     512, 1024},
    {"pages", "sm_80",
     "forward bf16 d=128 dv=128 group=4 layout=bnhd causal modifier=score*inf sinks seqlens_k "
     "page=16",
     1},
    {"pages_of_many_rows", "sm_80",
     "forward fp16 d=256 dv=256 group=1 layout=bhnd window=l mask=b11k softcap sinks seqlens_k "
     "page=64 "
     "accumulate=fp16 lse",
     512, 128},
};

class FeaturesCompile : public ::testing::TestWithParam<Case> {};

TEST_P(FeaturesCompile, InEveryFamilyThatServesThem) {
  const Problem problem = parse_problem(GetParam().problem);
  Shape shape;
  shape.heads_kv = 2;
  shape.heads_q = 2 * problem.gqa_group;
  shape.seqlen_q = GetParam().seqlen_q;
  shape.seqlen_k = 4096;
  DeviceInfo device;
  device.target = parse_target(GetParam().target);
  device.multiprocessors = 132;
  int serving = 0;
  for (const KernelFamily* family : kernel_families()) {
    if (family->refuses(problem, device.target)) continue;
    ++serving;
    for (const KernelBinary& kernel : default_kernels(*family, problem, shape, device)) {
      EXPECT_LE(kernel.resources.spill_bytes, GetParam().most_spilled)
          << family->name() << " " << text_of(kernel.resources);
    }
  }
  EXPECT_GE(serving, 1);
}

INSTANTIATE_TEST_SUITE_P(Problems, FeaturesCompile, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace ffpa_jit::testing
