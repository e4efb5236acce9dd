#include "problem/problem.h"

#include "base/error.h"
#include "problem/canonical_text.h"

namespace ffpa_jit {
namespace {

constexpr std::string_view kDirections = "forward";
constexpr std::string_view kLayouts = "bhnd, bnhd, varlen";
constexpr std::string_view kDTypes = "fp32, fp16, bf16";
constexpr std::string_view kPatterns = "\"bhqk\" with 1 in place of a dimension that is broadcast";
constexpr std::string_view kOptions =
    "causal, window=, mask=, bias=, dropout, softcap, lse, in this order, each once";

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
  p.lse = reader.take("lse");
  reader.finish(kOptions);
  validate(p);
  return p;
}

}  // namespace ffpa_jit
