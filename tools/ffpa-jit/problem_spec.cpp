// Flags -> ProblemSpec -> the C ABI's arguments.
#include "ffpa-jit/problem_spec.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "api/attention_args.h"
#include "base/error.h"

namespace ffpa_jit::cli {
namespace {

int64_t parse_int(std::string_view text, std::string_view flag) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: '{}' is not a whole number", flag, text);
  }
  return value;
}

ffpa_jit_tensor shaped(DType dtype, std::initializer_list<int64_t> sizes) {
  return ffpa::tensor(nullptr, c_dtype(dtype), sizes);
}

}  // namespace

ffpa_jit_dtype c_dtype(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return FFPA_JIT_FP32;
    case DType::kFp16:
      return FFPA_JIT_FP16;
    case DType::kBf16:
      return FFPA_JIT_BF16;
    case DType::kBool:
      return FFPA_JIT_BOOL;
    case DType::kInt32:
      return FFPA_JIT_INT32;
  }
  return FFPA_JIT_FP32;
}

MaskSpec parse_mask(std::string_view text) {
  MaskSpec mask;
  if (text.empty()) return mask;
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (kind != "bool" && kind != "bias") {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "--mask is '{}'; allowed: bool, bias, each with an optional broadcast pattern, "
                "e.g. bias:11qk",
                text);
  }
  mask.kind = kind == "bool" ? MaskKind::kBoolean : MaskKind::kBias;
  if (colon != std::string_view::npos) {
    std::string pattern(text.substr(colon + 1));
    std::transform(pattern.begin(), pattern.end(), pattern.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    mask.pattern = parse_pattern(pattern);
  }
  return mask;
}

ProblemSpec ProblemSpec::resolved() const {
  ProblemSpec out = *this;
  if (!out.kv_heads) out.kv_heads = out.heads;
  if (!out.seqlen_k) out.seqlen_k = out.seqlen_q;
  if (!out.head_dim_v) out.head_dim_v = out.head_dim;
  return out;
}

std::vector<int32_t> varlen_offsets(int64_t batch, int64_t longest) {
  std::vector<int32_t> offsets{0};
  for (int64_t i = 0; i < batch; ++i) {
    offsets.push_back(offsets.back() +
                      static_cast<int32_t>(std::max<int64_t>(1, longest * (batch - i) / batch)));
  }
  return offsets;
}

DescribedProblem::DescribedProblem(const ProblemSpec& given, const DeviceRef& device)
    : family_(given.family), spec_(given.resolved()) {
  const ProblemSpec& s = spec_;
  for (const auto& [size, flag] : {std::pair{s.batch, "batch"},
                                   {s.heads, "heads"},
                                   {s.kv_heads, "kv-heads"},
                                   {s.seqlen_q, "seqlen-q"},
                                   {s.seqlen_k, "seqlen-k"},
                                   {s.head_dim, "head-dim"},
                                   {s.head_dim_v, "head-dim-v"}}) {
    if (size < 1 || size > INT32_MAX) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "--{} is {}; allowed: 1 to {}", flag, size,
                  std::string_view(flag).starts_with("head-dim") ? kMaxHeadDim : INT32_MAX);
    }
  }
  args_.device_kind = device_kind_of(device);
  args_.device_index = device.index;
  switch (s.layout) {
    case Layout::kBhnd:
      args_.layout = FFPA_JIT_BHND;
      args_.q = shaped(s.dtype, {s.batch, s.heads, s.seqlen_q, s.head_dim});
      args_.k = shaped(s.dtype, {s.batch, s.kv_heads, s.seqlen_k, s.head_dim});
      args_.v = shaped(s.dtype, {s.batch, s.kv_heads, s.seqlen_k, s.head_dim_v});
      args_.o = shaped(s.dtype, {s.batch, s.heads, s.seqlen_q, s.head_dim_v});
      break;
    case Layout::kBnhd:
      args_.layout = FFPA_JIT_BNHD;
      args_.q = shaped(s.dtype, {s.batch, s.seqlen_q, s.heads, s.head_dim});
      args_.k = shaped(s.dtype, {s.batch, s.seqlen_k, s.kv_heads, s.head_dim});
      args_.v = shaped(s.dtype, {s.batch, s.seqlen_k, s.kv_heads, s.head_dim_v});
      args_.o = shaped(s.dtype, {s.batch, s.seqlen_q, s.heads, s.head_dim_v});
      break;
    case Layout::kVarlen: {
      const int64_t tokens_q = varlen_offsets(s.batch, s.seqlen_q).back();
      const int64_t tokens_k = varlen_offsets(s.batch, s.seqlen_k).back();
      args_.layout = FFPA_JIT_VARLEN;
      args_.q = shaped(s.dtype, {tokens_q, s.heads, s.head_dim});
      args_.k = shaped(s.dtype, {tokens_k, s.kv_heads, s.head_dim});
      args_.v = shaped(s.dtype, {tokens_k, s.kv_heads, s.head_dim_v});
      args_.o = shaped(s.dtype, {tokens_q, s.heads, s.head_dim_v});
      args_.cu_seqlens_q = shaped(DType::kInt32, {s.batch + 1});
      args_.cu_seqlens_k = shaped(DType::kInt32, {s.batch + 1});
      args_.max_seqlen_q = s.seqlen_q;
      args_.max_seqlen_k = s.seqlen_k;
      if (s.lse) args_.lse = shaped(DType::kFp32, {s.heads, tokens_q});
      break;
    }
  }
  if (s.lse && s.layout != Layout::kVarlen)
    args_.lse = shaped(DType::kFp32, {s.batch, s.heads, s.seqlen_q});
  if (s.mask.kind != MaskKind::kNone) {
    const BroadcastPattern& p = s.mask.pattern;
    ffpa_jit_tensor mask = shaped(s.mask.kind == MaskKind::kBoolean ? DType::kBool : DType::kFp32,
                                  {p.batch ? s.batch : 1, p.head ? s.heads : 1,
                                   p.query ? s.seqlen_q : 1, p.key ? key_bound(s) : 1});
    (s.mask.kind == MaskKind::kBoolean ? args_.mask : args_.bias) = mask;
  }
  args_.is_causal = s.causal;
  args_.window_left = s.window_left;
  args_.window_right = s.window_right;
  args_.softcap = s.softcap;
  args_.dropout_p = s.dropout;
  args_.has_softmax_scale = s.scale.has_value();
  args_.softmax_scale = s.scale.value_or(0);
  if (!family_.empty()) args_.family = family_.c_str();
  describe_features(s, args_);
}

AttentionCall DescribedProblem::call() const {
  return api::checked_call(args_, api::Purpose::kPrepare);
}

DeviceRef parse_device(std::string_view text) {
  if (text == "cpu") return {TargetKind::kCpu, 0};
  if (text == "cuda") return {TargetKind::kCuda, 0};
  if (text.starts_with("cuda:")) {
    const int64_t index = parse_int(text.substr(5), "--device");
    if (index < 0 || index > 0xffff) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "--device is '{}'; a device number from 0 is expected",
                  text);
    }
    return {TargetKind::kCuda, static_cast<int>(index)};
  }
  if (text.starts_with("emu:")) {
    const Target target = parse_target(text);
    if (target.compute_capability() == 0) {
      throw_error(FFPA_JIT_UNSUPPORTED,
                  "--device is '{}'; the emulator runs CUDA kernels: emu:sm_80, emu:sm_90, ...",
                  text);
    }
    return {TargetKind::kEmulator, target.compute_capability()};
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT,
              "--device is '{}'; allowed: cpu, cuda, cuda:N, emu:sm_80, emu:sm_90, ...", text);
}

ffpa_jit_device_kind device_kind_of(const DeviceRef& device) {
  switch (device.kind) {
    case TargetKind::kCuda:
      return FFPA_JIT_CUDA;
    case TargetKind::kEmulator:
      return FFPA_JIT_EMULATED_CUDA;
    case TargetKind::kCpu:
    case TargetKind::kHip:
      break;
  }
  return FFPA_JIT_CPU;
}

std::string short_text(const ProblemSpec& given) {
  const ProblemSpec s = given.resolved();
  std::string text = fmt::format("{} b={} h={}", name_of(s.dtype), s.batch, s.heads);
  if (s.kv_heads != s.heads) text += fmt::format("/{}", s.kv_heads);
  text += fmt::format(" n={}", s.seqlen_q);
  if (s.seqlen_k != s.seqlen_q) text += fmt::format("/{}", s.seqlen_k);
  text += fmt::format(" d={}", s.head_dim);
  if (s.head_dim_v != s.head_dim) text += fmt::format("/{}", s.head_dim_v);
  if (s.causal) text += " causal";
  if (s.window_left >= 0 || s.window_right >= 0)
    text += fmt::format(" window={},{}", s.window_left, s.window_right);
  if (s.mask.kind != MaskKind::kNone) {
    text += fmt::format(" {}:{}", s.mask.kind == MaskKind::kBoolean ? "bool" : "bias",
                        text_of(s.mask.pattern));
  }
  if (s.dropout > 0) text += fmt::format(" dropout={}", s.dropout);
  if (s.softcap > 0) text += fmt::format(" softcap={}", s.softcap);
  text += text_of(s.features);
  if (s.layout == Layout::kBnhd) text += " bnhd";
  if (s.layout == Layout::kVarlen) text += " varlen";
  return text;
}

void ProblemFlags::add_to(CLI::App& command) {
  dtype_option_ = command.add_option("--dtype", dtype_, "Element type: fp32, fp16 or bf16")
                      ->capture_default_str();
  dtype_option_->type_name("TYPE");
  command.add_option("--batch", spec_.batch, "Batch (number of sequences)")
      ->capture_default_str()
      ->type_name("B");
  command.add_option("--heads", spec_.heads, "Query heads")->capture_default_str()->type_name("H");
  command.add_option("--kv-heads", spec_.kv_heads, "Key/value heads; must divide H (default: H)")
      ->type_name("HKV");
  command.add_option("--seqlen-q", spec_.seqlen_q, "Query length; varlen: the longest")
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--seqlen-k", spec_.seqlen_k, "Key length (default: that of the queries)")
      ->type_name("N");
  command.add_option("--head-dim", spec_.head_dim, "Head dim of Q and K")
      ->capture_default_str()
      ->type_name("D");
  command.add_option("--head-dim-v", spec_.head_dim_v, "Head dim of V and O (default: D)")
      ->type_name("DV");
  command.add_flag("--causal", spec_.causal, "Tail-aligned causal mask");
  command
      .add_option("--window", window_,
                  "Sliding window: keys visible to the left and right, inclusive, tail-aligned; "
                  "negative = unlimited")
      ->type_name("L,R");
  command
      .add_option("--mask", mask_,
                  "bool (random visibility) or bias (random addend), with an optional broadcast "
                  "pattern: bias:11qk")
      ->type_name("KIND");
  command.add_option("--dropout", spec_.dropout, "Dropout probability, 0 <= P < 1")->type_name("P");
  command
      .add_option("--seed", seed_,
                  "Seed of generated inputs and of dropout (default: random, printed)")
      ->type_name("S");
  command.add_option("--softcap", spec_.softcap, "score = X * tanh(score / X); 0 = off")
      ->type_name("X");
  command.add_option("--scale", spec_.scale, "Softmax scale (default: 1/sqrt(D))")->type_name("X");
  command.add_option("--layout", layout_, "bhnd, bnhd or varlen")
      ->capture_default_str()
      ->type_name("L");
  add_feature_flags(command, spec_.features);
  command.add_flag("--lse", spec_.lse, "Also compute the log-sum-exp of every row");
  command
      .add_option("--family", spec_.family,
                  "Kernel family (default: routed; `ffpa-jit explain` lists them)")
      ->type_name("NAME");
}

bool ProblemFlags::has_dtype() const { return dtype_option_->count() > 0; }

ProblemSpec ProblemFlags::spec() const {
  ProblemSpec spec = spec_;
  const auto dtype = dtype_of(dtype_);
  if (!dtype || *dtype == DType::kBool || *dtype == DType::kInt32) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "--dtype is '{}'; allowed: fp32, fp16, bf16", dtype_);
  }
  spec.dtype = *dtype;
  const auto layout = layout_of(layout_);
  if (!layout) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "--layout is '{}'; allowed: bhnd, bnhd, varlen",
                layout_);
  }
  spec.layout = *layout;
  spec.mask = parse_mask(mask_);
  if (!window_.empty()) {
    const size_t comma = window_.find(',');
    if (comma == std::string::npos) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "--window is '{}'; L,R is expected, e.g. 1023,0",
                  window_);
    }
    spec.window_left = parse_int(std::string_view(window_).substr(0, comma), "--window");
    spec.window_right = parse_int(std::string_view(window_).substr(comma + 1), "--window");
  }
  return spec;
}

}  // namespace ffpa_jit::cli
