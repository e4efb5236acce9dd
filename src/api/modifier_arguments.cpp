// What changes scores beyond masks: the score modifier with its tensors, and sinks.
#include "api/argument_parts.h"
#include "api/tensor_check.h"
#include "problem/modifier/parse.h"

namespace ffpa_jit::api {
namespace {

// How far an index that is a variable by itself goes; nullopt for what is computed, which kernels
// clamp.
std::optional<int64_t> extent_of(const modifier::Node& index, const Shape& shape) {
  switch (index.op) {
    case modifier::Op::kBatch:
      return shape.batch;
    case modifier::Op::kHead:
      return shape.heads_q;
    case modifier::Op::kQuery:
      return shape.seqlen_q;
    case modifier::Op::kKey:
      return shape.seqlen_k;
    default:
      return std::nullopt;
  }
}

void check_index(const ffpa_jit_tensor& t, int number, int dim, const modifier::Node& index,
                 const Shape& shape) {
  const std::optional<int64_t> extent = extent_of(index, shape);
  const int64_t size = t.sizes[dim];
  if (extent ? size >= *extent || size == 1 : size >= 1) return;
  if (!extent) {
    throw_error(
        FFPA_JIT_INVALID_ARGUMENT,
        "modifier_tensors[{}] has size {} in dimension {}, which the score modifier computes "
        "an index for; allowed: 1 and more",
        number, size, dim);
  }
  throw_error(
      FFPA_JIT_INVALID_ARGUMENT,
      "modifier_tensors[{}] has size {} in dimension {}, which the score modifier indexes by "
      "{}; allowed: 1 (broadcast), or {} and more",
      number, size, dim, variable_name(index.op), *extent);
}

}  // namespace

void read_modifier(const ffpa_jit_attention_args& args, AttentionCall& call) {
  Problem& problem = call.problem;
  const bool wanted = args.score_modifier && *args.score_modifier;
  bool any_tensor = false;
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    const ffpa_jit_tensor& t = args.modifier_tensors[i];
    if (!is_present(t)) continue;
    const std::string_view name = kModifierTensorNames[i];
    any_tensor = true;
    ModifierTensor& known = problem.modifier_tensors[i];
    known.dtype = checked_dtype(t, name, {DType::kFp32, DType::kInt32});
    check_extent(t, name, 1, 4, bytes_of(known.dtype));
    known.rank = t.rank;
    ModifierTensorParams& p = call.params.modifier_tensors[i];
    p.data = t.data;
    for (int dim = 0; dim < t.rank; ++dim) {
      p.strides[dim] = stride_at(t, dim);
      p.sizes[dim] = static_cast<int>(int32_size(t.sizes[dim], name));
    }
  }
  if (!wanted) {
    if (any_tensor) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "modifier_tensors are given without a score_modifier that reads them");
    }
    return;
  }
  const modifier::Written& written =
      modifier::read_written(args.score_modifier, problem.modifier_tensors);
  problem.score_modifier = written.canonical;
  const modifier::Expression& expression = written.expression;
  for (const modifier::Node& node : expression.nodes) {
    if (node.op != modifier::Op::kTensor) continue;
    for (int dim = 0; dim < node.operand_count; ++dim) {
      check_index(args.modifier_tensors[node.integer], node.integer, dim,
                  expression.nodes[node.operands[dim]], call.shape);
    }
  }
}

void read_sinks(const ffpa_jit_attention_args& args, AttentionCall& call) {
  if (!is_present(args.sinks)) return;
  checked_dtype(args.sinks, "sinks", {DType::kFp32});
  check_extent(args.sinks, "sinks", 1, 1, sizeof(float));
  check_unit_last_stride(args.sinks, "sinks");
  require_equal(args.sinks.sizes[0], call.shape.heads_q, "the length of sinks",
                "the number of query heads");
  call.problem.sinks = true;
  call.params.sinks = static_cast<const float*>(args.sinks.data);
}

}  // namespace ffpa_jit::api
