// Boolean mask and additive bias: rank 2, 3 or 4, each dimension full or broadcast.
#include <array>

#include "api/argument_parts.h"
#include "api/tensor_check.h"

namespace ffpa_jit::api {
namespace {

// The four broadcastable dimensions of a mask or bias of rank 2, 3 or 4.
struct MaskView {
  BroadcastPattern pattern;
  std::array<long long, 4> strides{};
};

MaskView read_mask(const ffpa_jit_tensor& t, std::string_view name, size_t element_bytes,
                   const Shape& shape) {
  check_extent(t, name, 2, 4, element_bytes);
  const std::array<int64_t, 4> full{shape.batch, shape.heads_q, shape.seqlen_q, shape.seqlen_k};
  constexpr std::array<std::array<int, 4>, 3> kAxes{{{-1, -1, 0, 1}, {0, -1, 1, 2}, {0, 1, 2, 3}}};
  const std::array<int, 4>& axes = kAxes[t.rank - 2];
  MaskView view;
  std::array<bool, 4> is_full{};
  for (int i = 0; i < 4; ++i) {
    const int64_t size = size_at(t, axes[i]);
    if (size != 1 && size != full[i]) {
      throw_error(
          FFPA_JIT_INVALID_ARGUMENT,
          "{} has size {} in dimension {}; allowed: 1 (broadcast) or {} (the call is batch {}, "
          "heads {}, seqlen_q {}, seqlen_k {})",
          name, size, axes[i], full[i], full[0], full[1], full[2], full[3]);
    }
    is_full[i] = size > 1;
    view.strides[i] = stride_at(t, axes[i]);
  }
  view.pattern = {is_full[0], is_full[1], is_full[2], is_full[3]};
  return view;
}

}  // namespace

void read_masks(const ffpa_jit_attention_args& args, AttentionCall& call) {
  Problem& problem = call.problem;
  ForwardParams& p = call.params;
  if (is_present(args.mask)) {
    checked_dtype(args.mask, "mask", {DType::kBool});
    const MaskView view = read_mask(args.mask, "mask", 1, call.shape);
    problem.has_mask = true;
    problem.mask_pattern = view.pattern;
    p.mask = static_cast<const unsigned char*>(args.mask.data);
    p.mask_stride_batch = view.strides[0];
    p.mask_stride_head = view.strides[1];
    p.mask_stride_row = view.strides[2];
    p.mask_stride_key = view.strides[3];
  }
  if (is_present(args.bias)) {
    problem.bias_dtype = checked_dtype(args.bias, "bias", {DType::kFp32, problem.dtype});
    const MaskView view = read_mask(args.bias, "bias", bytes_of(problem.bias_dtype), call.shape);
    problem.has_bias = true;
    problem.bias_pattern = view.pattern;
    p.bias = args.bias.data;
    p.bias_stride_batch = view.strides[0];
    p.bias_stride_head = view.strides[1];
    p.bias_stride_row = view.strides[2];
    p.bias_stride_key = view.strides[3];
  }
}

}  // namespace ffpa_jit::api
