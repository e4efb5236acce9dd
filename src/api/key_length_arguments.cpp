// Keys of each sequence's own number (seqlens_k), and K and V in pages (block_table).
#include "api/argument_parts.h"
#include "api/tensor_check.h"

namespace ffpa_jit::api {
namespace {

// Where lengths and pages are readable, a wrong one is an error instead of a wild access.
void check_lengths_on_host(const ffpa_jit_tensor& t, int64_t longest) {
  const auto* lengths = static_cast<const int32_t*>(t.data);
  for (int64_t i = 0; i < t.sizes[0]; ++i) {
    if (lengths[i] < 0 || lengths[i] > longest) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "seqlens_k[{}] is {}; allowed: 0 to {}", i, lengths[i],
                  longest);
    }
  }
}

void check_pages_on_host(const ffpa_jit_attention_args& args, const AttentionCall& call) {
  const auto* table = static_cast<const int32_t*>(args.block_table.data);
  const auto* lengths = static_cast<const int32_t*>(args.seqlens_k.data);
  const int page_size = call.problem.page_size, num_pages = call.params.num_pages;
  for (int64_t b = 0; b < call.shape.batch; ++b) {
    for (int64_t i = 0; i < (int64_t{lengths[b]} + page_size - 1) / page_size; ++i) {
      const int32_t page = table[b * call.params.block_table_stride_batch + i];
      if (page < 0 || page >= num_pages) {
        throw_error(FFPA_JIT_INVALID_ARGUMENT,
                    "block_table[{}][{}] is {}; allowed: 0 to {}, the pages of k and v", b, i, page,
                    num_pages - 1);
      }
    }
  }
}

void read_pages(const ffpa_jit_attention_args& args, AttentionCall& call) {
  const ffpa_jit_tensor& t = args.block_table;
  if (!is_present(args.seqlens_k)) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "block_table is given without seqlens_k; give the number of keys of each sequence");
  }
  checked_dtype(t, "block_table", {DType::kInt32});
  check_extent(t, "block_table", 2, 2, sizeof(int32_t));
  check_unit_last_stride(t, "block_table");
  require_equal(t.sizes[0], call.shape.batch, "the batch of block_table", "that of q");
  const Axes axes = axes_of(call.problem.layout);
  const int64_t page_size = size_at(args.k, axes.row);
  if (page_size < 1 || page_size > kMaxPageSize) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "k and v have {} rows a page; allowed: 1 to {}",
                page_size, kMaxPageSize);
  }
  int64_t keys = 0;
  if (__builtin_mul_overflow(t.sizes[1], page_size, &keys) || keys > kInt32Max) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "block_table has {} pages of {} keys a sequence; allowed: up to {} keys",
                t.sizes[1], page_size, kInt32Max);
  }
  call.problem.page_size = static_cast<int>(page_size);
  call.shape.seqlen_k = keys;
  ForwardParams& p = call.params;
  p.block_table = static_cast<const int*>(t.data);
  p.block_table_stride_batch = stride_at(t, 0);
  p.num_pages = static_cast<int>(int32_size(size_at(args.k, axes.batch), "the number of pages"));
  p.max_pages = static_cast<int>(t.sizes[1]);
}

}  // namespace

void read_key_lengths(const ffpa_jit_attention_args& args, Purpose purpose, AttentionCall& call) {
  const bool paged = is_present(args.block_table);
  if (!paged && !is_present(args.seqlens_k)) return;
  if (call.problem.layout == Layout::kVarlen) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{} is given with layout FFPA_JIT_VARLEN; allowed: FFPA_JIT_BHND and FFPA_JIT_BNHD "
                "(cu_seqlens_k has the lengths of packed sequences)",
                paged ? "block_table" : "seqlens_k");
  }
  if (paged) read_pages(args, call);
  const ffpa_jit_tensor& t = args.seqlens_k;
  checked_dtype(t, "seqlens_k", {DType::kInt32});
  check_extent(t, "seqlens_k", 1, 1, sizeof(int32_t));
  check_unit_last_stride(t, "seqlens_k");
  require_equal(t.sizes[0], call.shape.batch, "the length of seqlens_k", "the batch of q");
  call.problem.seqlens_k = true;
  call.params.seqlens_k = static_cast<const int*>(t.data);
  if (purpose != Purpose::kLaunch) return;
  check_memory(t, "seqlens_k");
  if (paged) check_memory(args.block_table, "block_table");
  if (call.device.kind == TargetKind::kCpu || call.device.kind == TargetKind::kEmulator) {
    check_lengths_on_host(t, call.shape.seqlen_k);
    if (paged) check_pages_on_host(args, call);
  }
}

}  // namespace ffpa_jit::api
