// Flags and random contents of features.
#include "ffpa-jit/feature_spec.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "ffpa-jit/problem_spec.h"

namespace ffpa_jit::cli {
namespace {

constexpr std::string_view kTensorForm =
    "NAME=DTYPE:SIZES with t0 to t3, fp32 or int32, and one to four sizes, each a number or b, h, "
    "q, k; e.g. "
    "t0=int32:b,k";

[[noreturn]] void bad_tensor(std::string_view text, std::string_view why) {
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "--modifier-tensor is '{}': {}; expected: {}", text, why,
              kTensorForm);
}

int64_t size_of(std::string_view word, const ProblemSpec& spec, std::string_view text) {
  if (word == "b") return spec.batch;
  if (word == "h") return spec.heads;
  if (word == "q") return spec.seqlen_q;
  if (word == "k") return key_bound(spec);
  int64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (error != std::errc() || end != word.data() + word.size() || size < 1 || size > INT32_MAX) {
    bad_tensor(text, fmt::format("'{}' is no size", word));
  }
  return size;
}

void describe_tensor(const std::string& text, const ProblemSpec& spec, ffpa::Attention& args) {
  const std::string_view all = text;
  const size_t equals = all.find('='), colon = all.find(':');
  if (equals != 2 || all[0] != 't' || all[1] < '0' || all[1] > '3')
    bad_tensor(text, "no tensor's name");
  if (colon == std::string_view::npos) bad_tensor(text, "no sizes");
  const std::string_view dtype = all.substr(3, colon - 3);
  if (dtype != "fp32" && dtype != "int32") bad_tensor(text, fmt::format("dtype '{}'", dtype));
  std::vector<int64_t> sizes;
  for (size_t at = colon + 1; at <= all.size();) {
    const size_t end = std::min(all.find(',', at), all.size());
    sizes.push_back(size_of(all.substr(at, end - at), spec, text));
    at = end + 1;
  }
  if (sizes.size() > 4) bad_tensor(text, "more than four sizes");
  ffpa_jit_tensor& tensor = args.modifier_tensors[all[1] - '0'];
  if (tensor.rank != 0) bad_tensor(text, "given twice");
  tensor = ffpa::tensor(nullptr, dtype == "fp32" ? FFPA_JIT_FP32 : FFPA_JIT_INT32, sizes);
}

}  // namespace

void add_feature_flags(CLI::App& command, FeatureSpec& features) {
  command
      .add_option("--score-modifier", features.score_modifier,
                  "Expression that replaces each score, e.g. 't0[b,q] == t0[b,k] ? score : -inf' "
                  "(docs/semantics.md)")
      ->type_name("EXPR");
  command
      .add_option("--modifier-tensor", features.modifier_tensors,
                  "A tensor that the score modifier reads, e.g. t0=int32:b,k; repeatable")
      ->type_name("TENSOR");
  command.add_flag("--sinks", features.sinks,
                   "Attention sinks: one more, virtual key per query head");
  command.add_flag("--seqlens-k", features.seqlens_k,
                   "Each sequence has its own number of keys, up to the key length");
  command
      .add_option("--page-size", features.page_size, "K and V in pages of N keys (a block table)")
      ->type_name("N");
  command
      .add_option("--accumulate", features.accumulate,
                  "fp16 permits sums in half precision (fp16 tensors only)")
      ->capture_default_str()
      ->type_name("TYPE");
}

int64_t key_bound(const ProblemSpec& spec) {
  const int64_t page = std::max<int64_t>(spec.features.page_size, 1);
  return (spec.seqlen_k + page - 1) / page * page;
}

void describe_features(const ProblemSpec& spec, ffpa::Attention& args) {
  const FeatureSpec& features = spec.features;
  if (!features.score_modifier.empty()) args.score_modifier = features.score_modifier.c_str();
  for (const std::string& text : features.modifier_tensors) describe_tensor(text, spec, args);
  if (features.sinks) args.sinks = ffpa::tensor(nullptr, FFPA_JIT_FP32, {spec.heads});
  if (features.accumulate != "fp32" && features.accumulate != "fp16") {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "--accumulate is '{}'; allowed: fp32, fp16",
                features.accumulate);
  }
  if (features.accumulate == "fp16") args.accumulate = FFPA_JIT_ACCUMULATE_FP16;
  if (features.page_size < 0 || features.page_size > kMaxPageSize) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "--page-size is {}; allowed: 0 (no pages) to {}",
                features.page_size, kMaxPageSize);
  }
  if (!features.seqlens_k && features.page_size == 0) return;
  if (spec.layout == Layout::kVarlen) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "--seqlens-k and --page-size go with --layout bhnd and bnhd; varlen sequences have "
                "lengths of their own");
  }
  args.seqlens_k = ffpa::tensor(nullptr, FFPA_JIT_INT32, {spec.batch});
  if (features.page_size == 0) return;
  const int64_t pages = key_bound(spec) / features.page_size;
  args.block_table = ffpa::tensor(nullptr, FFPA_JIT_INT32, {spec.batch, pages});
  const bool bnhd = spec.layout == Layout::kBnhd;
  for (ffpa_jit_tensor* t : {&args.k, &args.v}) {
    const int64_t size = features.page_size, total = spec.batch * pages, dim = t->sizes[3];
    const auto dtype = static_cast<ffpa_jit_dtype>(t->dtype);
    *t = bnhd ? ffpa::tensor(nullptr, dtype, {total, size, spec.kv_heads, dim})
              : ffpa::tensor(nullptr, dtype, {total, spec.kv_heads, size, dim});
  }
}

void fill_features(const ProblemSpec& spec, ffpa::Attention& args,
                   const std::function<void(ffpa_jit_tensor&)>& allocate,
                   const std::function<float()>& normal) {
  const auto fill = [&](ffpa_jit_tensor& t) {
    if (t.rank == 0) return;
    allocate(t);
    int64_t count = 1;
    for (int dim = 0; dim < t.rank; ++dim) count *= t.sizes[dim];
    for (int64_t i = 0; i < count; ++i) {
      const float number = normal();
      if (t.dtype == FFPA_JIT_FP32) {
        static_cast<float*>(t.data)[i] = number;
      } else {
        static_cast<int32_t*>(t.data)[i] = number < -0.43f  ? 0
                                           : number < 0.43f ? 1
                                                            : 2;  // a third each
      }
    }
  };
  for (ffpa_jit_tensor& t : args.modifier_tensors) fill(t);
  fill(args.sinks);
  if (args.seqlens_k.rank == 0) return;
  allocate(args.seqlens_k);
  const std::vector<int32_t> offsets = varlen_offsets(spec.batch, spec.seqlen_k);
  for (int64_t b = 0; b < spec.batch; ++b) {
    static_cast<int32_t*>(args.seqlens_k.data)[b] = offsets[b + 1] - offsets[b];
  }
  if (args.block_table.rank == 0) return;
  allocate(args.block_table);
  const int64_t pages = args.block_table.sizes[0] * args.block_table.sizes[1];
  for (int64_t i = 0; i < pages; ++i) {
    static_cast<int32_t*>(args.block_table.data)[i] = static_cast<int32_t>(pages - 1 - i);
  }
}

std::string text_of(const FeatureSpec& features) {
  std::string text;
  if (!features.score_modifier.empty())
    text += fmt::format(" modifier='{}'", features.score_modifier);
  if (features.sinks) text += " sinks";
  if (features.seqlens_k || features.page_size) text += " seqlens_k";
  if (features.page_size) text += fmt::format(" page={}", features.page_size);
  if (features.accumulate == "fp16") text += " accumulate=fp16";
  return text;
}

}  // namespace ffpa_jit::cli
