// Q, K, V, O, LSE and packed sequences.
#include <array>

#include "api/argument_parts.h"
#include "api/tensor_check.h"

namespace ffpa_jit::api {
namespace {

// On the CPU the lengths are readable, so a wrong one is an error instead of a wild access.
void check_cu_seqlens_on_host(const ffpa_jit_tensor& t, std::string_view name, int64_t total,
                              int64_t longest) {
  const auto* offsets = static_cast<const int32_t*>(t.data);
  for (int64_t i = 0; i < t.sizes[0]; ++i) {
    const int64_t length = i == 0 ? 0 : int64_t{offsets[i]} - offsets[i - 1];
    if (i == 0 ? offsets[0] != 0 : (length < 0 || length > longest || offsets[i] > total)) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "{}[{}] is {}; offsets must begin with 0, never fall, stay within the {} packed "
                  "tokens, and differ by at most the maximum length {}",
                  name, i, offsets[i], total, longest);
    }
  }
}

}  // namespace

void read_tensors(const ffpa_jit_attention_args& args, AttentionCall& call) {
  Problem& problem = call.problem;
  Shape& shape = call.shape;
  problem.dtype = checked_dtype(args.q, "q", {DType::kFp32, DType::kFp16, DType::kBf16});
  const size_t bytes = bytes_of(problem.dtype);
  const int rank = problem.layout == Layout::kVarlen ? 3 : 4;
  struct Named {
    const ffpa_jit_tensor& tensor;
    std::string_view name;
  };
  for (const Named& t :
       std::array<Named, 4>{{{args.q, "q"}, {args.k, "k"}, {args.v, "v"}, {args.o, "o"}}}) {
    if (t.tensor.dtype != args.q.dtype) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}.dtype is {} and q.dtype is {}; they must be equal",
                  t.name, t.tensor.dtype, args.q.dtype);
    }
    check_extent(t.tensor, t.name, rank, rank, bytes);
    check_unit_last_stride(t.tensor, t.name);
  }

  const Axes axes = axes_of(problem.layout);
  shape.heads_q = int32_size(size_at(args.q, axes.head), "the number of query heads");
  shape.heads_kv = int32_size(size_at(args.k, axes.head), "the number of key/value heads");
  if (size_at(args.q, axes.column) > kInt32Max || size_at(args.v, axes.column) > kInt32Max) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "head dims are {} and {}; allowed: 1 to 2048",
                size_at(args.q, axes.column), size_at(args.v, axes.column));
  }
  problem.head_dim = static_cast<int>(size_at(args.q, axes.column));
  problem.head_dim_v = static_cast<int>(size_at(args.v, axes.column));
  require_equal(size_at(args.k, axes.column), problem.head_dim, "the head dim of k", "that of q");
  require_equal(size_at(args.v, axes.head), size_at(args.k, axes.head), "the number of heads of v",
                "that of k");
  require_equal(size_at(args.o, axes.head), shape.heads_q, "the number of heads of o", "that of q");
  require_equal(size_at(args.o, axes.column), problem.head_dim_v, "the head dim of o", "that of v");
  require_equal(size_at(args.v, axes.row), size_at(args.k, axes.row), "the length of v",
                "that of k");
  require_equal(size_at(args.o, axes.row), size_at(args.q, axes.row), "the length of o",
                "that of q");
  if (shape.heads_q == 0)
    shape.heads_kv = 0;  // nothing to compute, however many K/V heads there are
  if (shape.heads_kv == 0 ? shape.heads_q != 0 : shape.heads_q % shape.heads_kv != 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "q has {} heads and k has {}; query heads must be a multiple of key/value heads",
                shape.heads_q, shape.heads_kv);
  }
  problem.gqa_group = shape.heads_kv == 0 ? 1 : static_cast<int>(shape.heads_q / shape.heads_kv);

  if (problem.layout == Layout::kVarlen) {
    shape.total_q = int32_size(size_at(args.q, axes.row), "the number of packed query tokens");
    shape.total_k = int32_size(size_at(args.k, axes.row), "the number of packed key tokens");
  } else {
    shape.batch = int32_size(size_at(args.q, axes.batch), "the batch of q");
    require_equal(size_at(args.o, axes.batch), shape.batch, "the batch of o", "that of q");
    shape.seqlen_q = int32_size(size_at(args.q, axes.row), "seqlen_q");
    if (is_present(args.block_table)) {  // K and V are pages, of which sequences are made
      require_equal(size_at(args.v, axes.batch), size_at(args.k, axes.batch),
                    "the number of pages of v", "that of k");
    } else {
      require_equal(size_at(args.k, axes.batch), shape.batch, "the batch of k", "that of q");
      require_equal(size_at(args.v, axes.batch), shape.batch, "the batch of v", "that of q");
      shape.seqlen_k = int32_size(size_at(args.k, axes.row), "seqlen_k");
    }
  }

  ForwardParams& p = call.params;
  p.q = args.q.data;
  p.k = args.k.data;
  p.v = args.v.data;
  p.o = args.o.data;
  const auto strides = [&](const ffpa_jit_tensor& t, long long& batch, long long& head,
                           long long& row) {
    batch = stride_at(t, axes.batch);
    head = stride_at(t, axes.head);
    row = stride_at(t, axes.row);
  };
  strides(args.q, p.q_stride_batch, p.q_stride_head, p.q_stride_row);
  strides(args.k, p.k_stride_batch, p.k_stride_head, p.k_stride_row);
  strides(args.v, p.v_stride_batch, p.v_stride_head, p.v_stride_row);
  strides(args.o, p.o_stride_batch, p.o_stride_head, p.o_stride_row);
}

void read_varlen(const ffpa_jit_attention_args& args, Purpose purpose, AttentionCall& call) {
  Shape& shape = call.shape;
  if (call.problem.layout != Layout::kVarlen) {
    if (is_present(args.cu_seqlens_q) || is_present(args.cu_seqlens_k)) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "cu_seqlens are given but layout is not FFPA_JIT_VARLEN; leave them out, or set "
                  "the layout");
    }
    shape.total_q = shape.batch * shape.seqlen_q;
    shape.total_k = shape.batch * shape.seqlen_k;
    return;
  }
  const auto check = [](const ffpa_jit_tensor& t, std::string_view name) {
    checked_dtype(t, name, {DType::kInt32});
    check_extent(t, name, 1, 1, sizeof(int32_t));
    check_unit_last_stride(t, name);
    if (t.sizes[0] < 1) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} has {} elements; it needs batch + 1, at least 1",
                  name, t.sizes[0]);
    }
  };
  check(args.cu_seqlens_q, "cu_seqlens_q");
  check(args.cu_seqlens_k, "cu_seqlens_k");
  require_equal(args.cu_seqlens_k.sizes[0], args.cu_seqlens_q.sizes[0],
                "the length of cu_seqlens_k", "that of cu_seqlens_q: batch + 1");
  shape.batch = int32_size(args.cu_seqlens_q.sizes[0] - 1, "the batch");
  shape.seqlen_q = int32_size(args.max_seqlen_q, "max_seqlen_q");
  shape.seqlen_k = int32_size(args.max_seqlen_k, "max_seqlen_k");
  call.params.cu_seqlens_q = static_cast<const int*>(args.cu_seqlens_q.data);
  call.params.cu_seqlens_k = static_cast<const int*>(args.cu_seqlens_k.data);
  if (purpose == Purpose::kLaunch) {
    check_memory(args.cu_seqlens_q, "cu_seqlens_q");
    check_memory(args.cu_seqlens_k, "cu_seqlens_k");
    if (call.device.kind == TargetKind::kCpu || call.device.kind == TargetKind::kEmulator) {
      check_cu_seqlens_on_host(args.cu_seqlens_q, "cu_seqlens_q", shape.total_q, shape.seqlen_q);
      check_cu_seqlens_on_host(args.cu_seqlens_k, "cu_seqlens_k", shape.total_k, shape.seqlen_k);
    }
  }
}

void read_lse(const ffpa_jit_attention_args& args, AttentionCall& call) {
  if (!is_present(args.lse)) return;
  const bool varlen = call.problem.layout == Layout::kVarlen;
  checked_dtype(args.lse, "lse", {DType::kFp32});
  check_extent(args.lse, "lse", varlen ? 2 : 3, varlen ? 2 : 3, sizeof(float));
  check_unit_last_stride(args.lse, "lse");
  check_no_self_overlap(args.lse, "lse");
  const int head = varlen ? 0 : 1;
  if (!varlen) require_equal(args.lse.sizes[0], call.shape.batch, "the batch of lse", "that of q");
  require_equal(args.lse.sizes[head], call.shape.heads_q, "the number of heads of lse",
                "that of q");
  require_equal(args.lse.sizes[head + 1], varlen ? call.shape.total_q : call.shape.seqlen_q,
                "the length of lse", "that of q");
  call.problem.lse = true;
  call.params.lse = static_cast<float*>(args.lse.data);
  call.params.lse_stride_batch = varlen ? 0 : stride_at(args.lse, 0);
  call.params.lse_stride_head = stride_at(args.lse, head);
}

}  // namespace ffpa_jit::api
