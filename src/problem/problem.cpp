#include "problem/problem.h"

#include <array>

#include "base/error.h"
#include "problem/canonical_text.h"
#include "problem/modifier/parse.h"

namespace ffpa_jit {
namespace {

constexpr std::string_view kDirections = "forward";
constexpr std::string_view kLayouts = "bhnd, bnhd, varlen";
constexpr std::string_view kDTypes = "fp32, fp16, bf16";
constexpr std::string_view kPatterns = "\"bhqk\" with 1 in place of a dimension that is broadcast";
constexpr std::string_view kOptions =
    "causal, window=, mask=, bias=, dropout, softcap, modifier= (with t0= to t3=), sinks, "
    "seqlens_k, "
    "page=, accumulate=fp16, lse, in this order, each once";
constexpr std::string_view kModifierTensor =
    "fp32 or int32, a colon and the rank 1 to 4, e.g. int32:2";
constexpr std::array<std::string_view, kMaxModifierTensors> kTensorNames{"t0", "t1", "t2", "t3"};

bool is_activation(DType dtype) {
  return dtype == DType::kFp32 || dtype == DType::kFp16 || dtype == DType::kBf16;
}

[[noreturn]] void invalid(std::string_view field, std::string_view asked,
                          std::string_view allowed) {
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; allowed: {}", field, asked, allowed);
}

void check_range(std::string_view field, int value, int max) {
  if (value < 1 || value > max) invalid(field, std::to_string(value), fmt::format("1 to {}", max));
}

std::optional<BroadcastPattern> pattern_of(std::string_view text) {
  if (text.size() != 4) return std::nullopt;
  constexpr std::string_view kNames = "bhqk";
  for (size_t i = 0; i < 4; ++i) {
    if (text[i] != kNames[i] && text[i] != '1') return std::nullopt;
  }
  return BroadcastPattern{text[0] != '1', text[1] != '1', text[2] != '1', text[3] != '1'};
}

DType parse_dtype(const CanonicalReader& reader, std::string_view field, std::string_view name) {
  const std::optional<DType> dtype = dtype_of(name);
  if (!dtype || !is_activation(*dtype)) {
    reader.fail(fmt::format("{} is {}; allowed: {}", field, in_quotes(name), kDTypes));
  }
  return *dtype;
}

BroadcastPattern parse_pattern(const CanonicalReader& reader, std::string_view field,
                               std::string_view text) {
  const std::optional<BroadcastPattern> pattern = pattern_of(text);
  if (!pattern)
    reader.fail(fmt::format("{} is {}; allowed: {}", field, in_quotes(text), kPatterns));
  return *pattern;
}

ModifierTensor parse_modifier_tensor(const CanonicalReader& reader, std::string_view name,
                                     std::string_view text) {
  const size_t colon = text.find(':');
  const std::optional<DType> dtype = dtype_of(text.substr(0, colon));
  if (colon == std::string_view::npos || (dtype != DType::kFp32 && dtype != DType::kInt32)) {
    reader.fail(fmt::format("{} is {}; allowed: {}", name, in_quotes(text), kModifierTensor));
  }
  return {*dtype, static_cast<int>(reader.to_integer(name, text.substr(colon + 1), 1, 4))};
}

void validate_modifier(const Problem& p) {
  if (p.score_modifier.empty()) {
    if (p.modifier_tensors != ModifierTensors{}) {
      invalid("modifier_tensors", "given", "none when there is no score modifier");
    }
    return;
  }
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    const ModifierTensor& tensor = p.modifier_tensors[i];
    const bool known =
        tensor.dtype == DType::kFp32 || (tensor.dtype == DType::kInt32 && tensor.rank);
    if (!known || tensor.rank < 0 || tensor.rank > 4) {
      invalid(kTensorNames[i], fmt::format("{}:{}", name_of(tensor.dtype), tensor.rank),
              kModifierTensor);
    }
  }
  // Every call is validated, and most have the modifier of the one before.
  thread_local std::string last_text;
  thread_local ModifierTensors last_tensors;
  if (p.score_modifier == last_text && p.modifier_tensors == last_tensors) return;
  const modifier::Expression expression = modifier::parse(p.score_modifier, p.modifier_tensors);
  if (const std::string text = text_of(expression); text != p.score_modifier) {
    invalid("score_modifier", in_quotes(p.score_modifier),
            fmt::format("its canonical text, {}", in_quotes(text)));
  }
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    if (p.modifier_tensors[i].rank != 0 && !expression.reads_tensor(i)) {
      invalid(kTensorNames[i], "given", "only tensors that the score modifier reads");
    }
  }
  last_text = p.score_modifier;
  last_tensors = p.modifier_tensors;
}

}  // namespace

std::string_view name_of(Direction direction) {
  return direction == Direction::kForward ? "forward" : "unknown";
}

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::kBhnd:
      return "bhnd";
    case Layout::kBnhd:
      return "bnhd";
    case Layout::kVarlen:
      return "varlen";
  }
  return "unknown";
}

std::optional<Direction> direction_of(std::string_view name) {
  if (name == "forward") return Direction::kForward;
  return std::nullopt;
}

std::optional<Layout> layout_of(std::string_view name) {
  for (Layout layout : {Layout::kBhnd, Layout::kBnhd, Layout::kVarlen}) {
    if (name_of(layout) == name) return layout;
  }
  return std::nullopt;
}

std::string text_of(const BroadcastPattern& pattern) {
  return {pattern.batch ? 'b' : '1', pattern.head ? 'h' : '1', pattern.query ? 'q' : '1',
          pattern.key ? 'k' : '1'};
}

BroadcastPattern parse_pattern(std::string_view text) {
  const std::optional<BroadcastPattern> pattern = pattern_of(text);
  if (!pattern) invalid("broadcast pattern", in_quotes(text), kPatterns);
  return *pattern;
}

void validate(const Problem& p) {
  if (p.direction != Direction::kForward) invalid("direction", "not a known one", kDirections);
  if (!is_activation(p.dtype)) invalid("dtype", name_of(p.dtype), kDTypes);
  check_range("head_dim", p.head_dim, kMaxHeadDim);
  check_range("head_dim_v", p.head_dim_v, kMaxHeadDim);
  check_range("gqa_group", p.gqa_group, kMaxGqaGroup);
  if (name_of(p.layout) == "unknown") invalid("layout", "not a known one", kLayouts);
  if (p.causal && !p.window_right) {
    invalid("window_right", "false with causal", "true (causal is a right window of 0)");
  }
  // What is off must look alike, or equal work would have two texts and two cache entries.
  if (!p.has_mask && p.mask_pattern != BroadcastPattern{}) {
    invalid("mask_pattern", in_quotes(text_of(p.mask_pattern)), "\"bhqk\" when there is no mask");
  }
  if (!p.has_bias && p.bias_pattern != BroadcastPattern{}) {
    invalid("bias_pattern", in_quotes(text_of(p.bias_pattern)), "\"bhqk\" when there is no bias");
  }
  if (!p.has_bias && p.bias_dtype != DType::kFp32) {
    invalid("bias_dtype", name_of(p.bias_dtype), "fp32 when there is no bias");
  }
  if (p.has_bias && p.bias_dtype != DType::kFp32 && p.bias_dtype != p.dtype) {
    invalid("bias_dtype", name_of(p.bias_dtype),
            p.dtype == DType::kFp32 ? "fp32"
                                    : fmt::format("fp32 or {}, the dtype of Q", name_of(p.dtype)));
  }
  validate_modifier(p);
  if (p.seqlens_k && p.layout == Layout::kVarlen) {
    invalid("seqlens_k", "given with layout varlen", "bhnd, bnhd (cu_seqlens_k says it there)");
  }
  if (p.page_size < 0 || p.page_size > kMaxPageSize) {
    invalid("page_size", std::to_string(p.page_size), fmt::format("0 to {}", kMaxPageSize));
  }
  if (p.page_size != 0 && !p.seqlens_k) {
    invalid("page_size", "given without seqlens_k", "pages with seqlens_k only");
  }
  if (p.fp16_accumulate && p.dtype != DType::kFp16) {
    invalid("accumulate", fmt::format("fp16 with dtype {}", name_of(p.dtype)),
            "fp16 with dtype fp16, else fp32");
  }
}

std::string text_of(const Problem& p) {
  std::string text =
      fmt::format("{} {} d={} dv={} group={} layout={}", name_of(p.direction), name_of(p.dtype),
                  p.head_dim, p.head_dim_v, p.gqa_group, name_of(p.layout));
  if (p.causal) text += " causal";
  const bool right = p.window_right && !p.causal;  // causal already says it
  if (p.window_left || right) {
    text += fmt::format(" window={}{}", p.window_left ? "l" : "", right ? "r" : "");
  }
  if (p.has_mask) text += " mask=" + text_of(p.mask_pattern);
  if (p.has_bias)
    text += fmt::format(" bias={}:{}", name_of(p.bias_dtype), text_of(p.bias_pattern));
  if (p.dropout) text += " dropout";
  if (p.softcap) text += " softcap";
  if (!p.score_modifier.empty()) text += " modifier=" + p.score_modifier;
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    const ModifierTensor& tensor = p.modifier_tensors[i];
    if (tensor.rank != 0) {
      text += fmt::format(" {}={}:{}", kTensorNames[i], name_of(tensor.dtype), tensor.rank);
    }
  }
  if (p.sinks) text += " sinks";
  if (p.seqlens_k) text += " seqlens_k";
  if (p.page_size) text += fmt::format(" page={}", p.page_size);
  if (p.fp16_accumulate) text += " accumulate=fp16";
  if (p.lse) text += " lse";
  return text;
}

Problem parse_problem(std::string_view text) {
  CanonicalReader reader("problem text", text);
  Problem p;

  const std::string_view direction = reader.word("direction", kDirections);
  if (auto known = direction_of(direction)) {
    p.direction = *known;
  } else {
    reader.fail(fmt::format("direction is {}; allowed: {}", in_quotes(direction), kDirections));
  }
  p.dtype = parse_dtype(reader, "dtype", reader.word("dtype", kDTypes));
  p.head_dim = static_cast<int>(reader.integer("d", 1, kMaxHeadDim));
  p.head_dim_v = static_cast<int>(reader.integer("dv", 1, kMaxHeadDim));
  p.gqa_group = static_cast<int>(reader.integer("group", 1, kMaxGqaGroup));
  const std::string_view layout = reader.value("layout", kLayouts);
  if (auto known = layout_of(layout)) {
    p.layout = *known;
  } else {
    reader.fail(fmt::format("layout is {}; allowed: {}", in_quotes(layout), kLayouts));
  }

  p.causal = p.window_right = reader.take("causal");
  if (auto window = reader.take_value("window")) {
    p.window_left = window->starts_with('l');
    const bool right = window->ends_with('r');
    const std::string_view allowed = p.causal ? "l (causal bounds the right side)" : "l, r, lr";
    const std::string spelled = std::string(p.window_left ? "l" : "") + (right ? "r" : "");
    if (*window != spelled || spelled.empty() || (p.causal && right)) {
      reader.fail(fmt::format("window is {}; allowed: {}", in_quotes(*window), allowed));
    }
    p.window_right = p.causal || right;
  }
  if (auto pattern = reader.take_value("mask")) {
    p.has_mask = true;
    p.mask_pattern = parse_pattern(reader, "mask", *pattern);
  }
  if (auto bias = reader.take_value("bias")) {
    const size_t colon = bias->find(':');
    if (colon == std::string_view::npos) {
      reader.fail(
          fmt::format("bias is {}; allowed: DTYPE:PATTERN, e.g. fp32:11qk", in_quotes(*bias)));
    }
    p.has_bias = true;
    p.bias_dtype = parse_dtype(reader, "bias dtype", bias->substr(0, colon));
    p.bias_pattern = parse_pattern(reader, "bias pattern", bias->substr(colon + 1));
  }
  p.dropout = reader.take("dropout");
  p.softcap = reader.take("softcap");
  if (auto modifier = reader.take_value("modifier")) {
    p.score_modifier = *modifier;
    if (p.score_modifier.empty()) reader.fail("modifier is empty; allowed: an expression");
    for (int i = 0; i < kMaxModifierTensors; ++i) {
      if (auto tensor = reader.take_value(kTensorNames[i])) {
        p.modifier_tensors[i] = parse_modifier_tensor(reader, kTensorNames[i], *tensor);
      }
    }
  }
  p.sinks = reader.take("sinks");
  p.seqlens_k = reader.take("seqlens_k");
  if (auto page = reader.take_value("page")) {
    p.page_size = static_cast<int>(reader.to_integer("page", *page, 1, kMaxPageSize));
  }
  p.fp16_accumulate = reader.take("accumulate=fp16");
  p.lse = reader.take("lse");
  reader.finish(kOptions);
  validate(p);
  return p;
}

}  // namespace ffpa_jit
