// ProblemSpec: one attention problem as the command line states it (flags, a problem file, a
// model's config). Becomes the C ABI's argument struct, so that checks and defaults are the
// library's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ffpa-jit/feature_spec.h"
#include "ffpa_jit/ffpa_jit.hpp"
#include "problem/problem.h"
#include "runtime/attention_call.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ffpa_jit::cli {

enum class MaskKind : uint8_t { kNone, kBoolean, kBias };

struct MaskSpec {
  MaskKind kind = MaskKind::kNone;
  BroadcastPattern pattern;
};
// "bool", "bias", "bias:11qk". Throws Error INVALID_ARGUMENT.
MaskSpec parse_mask(std::string_view text);

struct ProblemSpec {
  DType dtype = DType::kBf16;
  Layout layout = Layout::kBhnd;
  int64_t batch = 1;
  int64_t heads = 8;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t seqlen_q = 512;
  int64_t seqlen_k = 0;  // 0: as many as seqlen_q
  int64_t head_dim = 64;
  int64_t head_dim_v = 0;  // 0: as head_dim
  bool causal = false;
  int64_t window_left = -1;
  int64_t window_right = -1;
  MaskSpec mask;
  double dropout = 0;
  double softcap = 0;
  std::optional<double> scale;
  bool lse = false;
  FeatureSpec features;
  std::string family;  // empty: routed

  // 0 filled in.
  ProblemSpec resolved() const;
};

// The problem with its sizes and no memory: what prepare and explain take. Sequence i of a varlen
// batch of B has seqlen * (B - i) / B tokens, at least 1.
class DescribedProblem {
 public:
  DescribedProblem(const ProblemSpec& spec, const DeviceRef& device);
  DescribedProblem(const DescribedProblem&) = delete;
  DescribedProblem& operator=(const DescribedProblem&) = delete;

  const ffpa::Attention& args() const { return args_; }
  // Checked by the API layer. Throws Error INVALID_ARGUMENT.
  AttentionCall call() const;

 private:
  std::string family_;
  ProblemSpec spec_;  // args_ points at its texts
  ffpa::Attention args_;
};

// Of the C ABI.
ffpa_jit_dtype c_dtype(DType dtype);

// Lengths of a varlen batch, and their prefix sums as cu_seqlens has them.
std::vector<int32_t> varlen_offsets(int64_t batch, int64_t longest);

// "cpu", "cuda", "cuda:1", "emu:sm_80". Throws Error INVALID_ARGUMENT, and UNSUPPORTED for an
// emulated AMD GPU.
DeviceRef parse_device(std::string_view text);
// For the C struct.
ffpa_jit_device_kind device_kind_of(const DeviceRef& device);

// "8x32/8 q=2048 k=2048 d=128 causal": what a table's row is called.
std::string short_text(const ProblemSpec& spec);

// The flags; texts are parsed by spec().
class ProblemFlags {
 public:
  void add_to(CLI::App& command);
  ProblemSpec spec() const;
  uint64_t seed() const { return seed_.value(); }
  bool has_seed() const { return seed_.has_value(); }
  bool has_dtype() const;

 private:
  ProblemSpec spec_;
  std::string dtype_ = "bf16", layout_ = "bhnd", window_, mask_;
  std::optional<uint64_t> seed_;
  CLI::Option* dtype_option_ = nullptr;
};

}  // namespace ffpa_jit::cli
