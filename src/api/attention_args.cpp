#include "api/attention_args.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "api/tensor_check.h"
#include "base/error.h"

namespace ffpa_jit::api {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

// Positions of the four logical dimensions [batch, head, row, column] in a tensor of this layout; -1: absent.
struct Axes {
  int batch, head, row, column;
};

constexpr Axes axes_of(Layout layout) {
  switch (layout) {
    case Layout::kBhnd: return {0, 1, 2, 3};
    case Layout::kBnhd: return {0, 2, 1, 3};
    case Layout::kVarlen: return {-1, 1, 0, 2};
  }
  return {0, 1, 2, 3};
}

int64_t size_at(const ffpa_jit_tensor& t, int axis) { return axis < 0 ? 1 : t.sizes[axis]; }

// A dimension of size 1 is never stepped along: its stride is read as 0, so that any value is accepted.
int64_t stride_at(const ffpa_jit_tensor& t, int axis) {
  return axis < 0 || t.sizes[axis] <= 1 ? 0 : t.strides[axis];
}

void require_equal(int64_t got, int64_t want, std::string_view what, std::string_view because) {
  if (got == want) return;
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; it must be {} ({})", what, got, want, because);
}

int64_t int32_size(int64_t size, std::string_view what) {
  if (size < 0 || size > kInt32Max) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; allowed: 0 to {}", what, size, kInt32Max);
  }
  return size;
}

Layout checked_layout(int32_t layout) {
  switch (layout) {
    case FFPA_JIT_BHND: return Layout::kBhnd;
    case FFPA_JIT_BNHD: return Layout::kBnhd;
    case FFPA_JIT_VARLEN: return Layout::kVarlen;
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT,
              "layout is {}; allowed: FFPA_JIT_BHND (0), FFPA_JIT_BNHD (1), FFPA_JIT_VARLEN (2)",
              layout);
}

DeviceRef checked_device(const ffpa_jit_attention_args& args) {
  if (args.device_index < 0 || args.device_index > 0xffff) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "device_index is {}; allowed: 0 to 65535",
                args.device_index);
  }
  switch (args.device_kind) {
    case FFPA_JIT_CPU:
      if (args.device_index == 0) return {TargetKind::kCpu, 0};
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "device_index is {}; the CPU is one device: use 0",
                  args.device_index);
    case FFPA_JIT_CUDA: return {TargetKind::kCuda, args.device_index};
    case FFPA_JIT_EMULATED_CUDA: return {TargetKind::kEmulator, args.device_index};
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT,
              "device_kind is {}; allowed: FFPA_JIT_CPU (0), FFPA_JIT_CUDA (1), FFPA_JIT_EMULATED_CUDA (2)",
              args.device_kind);
}

// Q, K, V, O: types, extents, and the sizes they must share.
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
  for (const Named& t : std::array<Named, 4>{
           {{args.q, "q"}, {args.k, "k"}, {args.v, "v"}, {args.o, "o"}}}) {
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
  require_equal(size_at(args.v, axes.row), size_at(args.k, axes.row), "the length of v", "that of k");
  require_equal(size_at(args.o, axes.row), size_at(args.q, axes.row), "the length of o", "that of q");
  if (shape.heads_q == 0) shape.heads_kv = 0;  // nothing to compute, however many K/V heads there are
  if (shape.heads_kv == 0 ? shape.heads_q != 0 : shape.heads_q % shape.heads_kv != 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "q has {} heads and k has {}; query heads must be a multiple of key/value heads",
                shape.heads_q, shape.heads_kv);
  }
  problem.gqa_group =
      shape.heads_kv == 0 ? 1 : static_cast<int>(shape.heads_q / shape.heads_kv);

  if (problem.layout == Layout::kVarlen) {
    shape.total_q = int32_size(size_at(args.q, axes.row), "the number of packed query tokens");
    shape.total_k = int32_size(size_at(args.k, axes.row), "the number of packed key tokens");
  } else {
    shape.batch = int32_size(size_at(args.q, axes.batch), "the batch of q");
    require_equal(size_at(args.k, axes.batch), shape.batch, "the batch of k", "that of q");
    require_equal(size_at(args.v, axes.batch), shape.batch, "the batch of v", "that of q");
    require_equal(size_at(args.o, axes.batch), shape.batch, "the batch of o", "that of q");
    shape.seqlen_q = int32_size(size_at(args.q, axes.row), "seqlen_q");
    shape.seqlen_k = int32_size(size_at(args.k, axes.row), "seqlen_k");
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

void read_varlen(const ffpa_jit_attention_args& args, Purpose purpose, AttentionCall& call) {
  Shape& shape = call.shape;
  if (call.problem.layout != Layout::kVarlen) {
    if (is_present(args.cu_seqlens_q) || is_present(args.cu_seqlens_k)) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "cu_seqlens are given but layout is not FFPA_JIT_VARLEN; leave them out, or set the layout");
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
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
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

void read_lse(const ffpa_jit_attention_args& args, AttentionCall& call) {
  if (!is_present(args.lse)) return;
  const bool varlen = call.problem.layout == Layout::kVarlen;
  checked_dtype(args.lse, "lse", {DType::kFp32});
  check_extent(args.lse, "lse", varlen ? 2 : 3, varlen ? 2 : 3, sizeof(float));
  check_unit_last_stride(args.lse, "lse");
  check_no_self_overlap(args.lse, "lse");
  const int head = varlen ? 0 : 1;
  if (!varlen) require_equal(args.lse.sizes[0], call.shape.batch, "the batch of lse", "that of q");
  require_equal(args.lse.sizes[head], call.shape.heads_q, "the number of heads of lse", "that of q");
  require_equal(args.lse.sizes[head + 1], varlen ? call.shape.total_q : call.shape.seqlen_q,
                "the length of lse", "that of q");
  call.problem.lse = true;
  call.params.lse = static_cast<float*>(args.lse.data);
  call.params.lse_stride_batch = varlen ? 0 : stride_at(args.lse, 0);
  call.params.lse_stride_head = stride_at(args.lse, head);
}

double finite(double value, std::string_view name) {
  // The kernels compute in fp32: what does not fit there is an infinity to them.
  if (!std::isfinite(static_cast<float>(value))) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; it must be a finite fp32 number", name, value);
  }
  return value;
}

void read_numbers(const ffpa_jit_attention_args& args, AttentionCall& call) {
  Problem& problem = call.problem;
  ForwardParams& p = call.params;
  p.batch = static_cast<int>(call.shape.batch);
  p.heads_q = static_cast<int>(call.shape.heads_q);
  p.heads_kv = static_cast<int>(call.shape.heads_kv);
  p.seqlen_q = static_cast<int>(call.shape.seqlen_q);
  p.seqlen_k = static_cast<int>(call.shape.seqlen_k);

  p.softmax_scale = static_cast<float>(args.has_softmax_scale
                                           ? finite(args.softmax_scale, "softmax_scale")
                                           : 1.0 / std::sqrt(static_cast<double>(problem.head_dim)));

  const auto window = [](int64_t keys) {
    return static_cast<int>(keys < 0 ? -1 : std::min(keys, kInt32Max));
  };
  problem.causal = args.is_causal != 0;
  p.window_left = window(args.window_left);
  p.window_right = window(args.window_right);
  // Causal is a right window of 0, whatever wider window is given with it.
  if (problem.causal) p.window_right = 0;
  problem.window_left = p.window_left >= 0;
  problem.window_right = p.window_right >= 0;

  if (!(finite(args.softcap, "softcap") >= 0)) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "softcap is {}; allowed: 0 (off) or a positive number",
                args.softcap);
  }
  p.softcap = static_cast<float>(args.softcap);
  problem.softcap = p.softcap > 0;

  if (!(args.dropout_p >= 0 && args.dropout_p < 1)) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "dropout_p is {}; allowed: 0 <= dropout_p < 1",
                args.dropout_p);
  }
  p.dropout_p = static_cast<float>(args.dropout_p);
  problem.dropout = p.dropout_p > 0;
  p.dropout_scale = static_cast<float>(1.0 / (1.0 - args.dropout_p));
  p.philox_seed = args.philox_seed;
  p.philox_offset = args.philox_offset;
  p.philox_state = reinterpret_cast<const unsigned long long*>(args.philox_state);
}

void check_memory_of(const ffpa_jit_attention_args& args, const AttentionCall& call) {
  const size_t bytes = bytes_of(call.problem.dtype);
  check_memory(args.q, "q");
  check_memory(args.k, "k");
  check_memory(args.v, "v");
  check_memory(args.o, "o");
  struct Read {
    const ffpa_jit_tensor& tensor;
    std::string_view name;
    size_t bytes;
  };
  const std::array<Read, 7> reads{{{args.q, "q", bytes},
                                   {args.k, "k", bytes},
                                   {args.v, "v", bytes},
                                   {args.mask, "mask", 1},
                                   {args.bias, "bias", bytes_of(call.problem.bias_dtype)},
                                   {args.cu_seqlens_q, "cu_seqlens_q", sizeof(int32_t)},
                                   {args.cu_seqlens_k, "cu_seqlens_k", sizeof(int32_t)}}};
  for (const Read& read : reads) {
    check_disjoint(args.o, "o", bytes, read.tensor, read.name, read.bytes);
    check_disjoint(args.lse, "lse", sizeof(float), read.tensor, read.name, read.bytes);
  }
  check_disjoint(args.lse, "lse", sizeof(float), args.o, "o", bytes);
  if (call.problem.lse) check_memory(args.lse, "lse");
  if (call.problem.has_mask) check_memory(args.mask, "mask");
  if (call.problem.has_bias) check_memory(args.bias, "bias");
  if (args.workspace && reinterpret_cast<uintptr_t>(args.workspace) % 256 != 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "workspace is {}; it must be a multiple of 256 bytes",
                fmt::ptr(args.workspace));
  }
  if (reinterpret_cast<uintptr_t>(args.philox_state) % alignof(uint64_t) != 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "philox_state is {}; it must be a multiple of 8 bytes",
                fmt::ptr(args.philox_state));
  }
}

// What an emulated kernel may touch, named as in the caller's struct.
void read_ranges(const ffpa_jit_attention_args& args, AttentionCall& call) {
  const size_t bytes = bytes_of(call.problem.dtype);
  const auto add = [&](const ffpa_jit_tensor& tensor, std::string_view name, size_t element_bytes,
                       bool writable) {
    const size_t span = is_present(tensor) ? span_bytes(tensor, element_bytes) : 0;
    if (span > 0) call.ranges.push_back({name, tensor.data, span, writable});
  };
  add(args.q, "q", bytes, false);
  add(args.k, "k", bytes, false);
  add(args.v, "v", bytes, false);
  add(args.o, "o", bytes, true);
  add(args.lse, "lse", sizeof(float), true);
  add(args.mask, "mask", 1, false);
  add(args.bias, "bias", bytes_of(call.problem.bias_dtype), false);
  add(args.cu_seqlens_q, "cu_seqlens_q", sizeof(int32_t), false);
  add(args.cu_seqlens_k, "cu_seqlens_k", sizeof(int32_t), false);
  if (args.philox_state) call.ranges.push_back({"philox_state", args.philox_state, 16, false});
}

}  // namespace

AttentionCall checked_call(const ffpa_jit_attention_args& args, Purpose purpose) {
  AttentionCall call;
  call.device = checked_device(args);
  call.stream = args.stream;
  call.problem.layout = checked_layout(args.layout);
  if (args.family) call.family = args.family;
  call.workspace = args.workspace;
  call.workspace_bytes = args.workspace_bytes;
  call.host_args = &args;

  read_tensors(args, call);
  read_varlen(args, purpose, call);
  read_masks(args, call);
  check_no_self_overlap(args.o, "o");
  read_lse(args, call);
  read_numbers(args, call);
  validate(call.problem);
  validate(call.problem, call.shape);
  if (purpose == Purpose::kLaunch) check_memory_of(args, call);
  if (call.device.kind == TargetKind::kEmulator) read_ranges(args, call);
  return call;
}

}  // namespace ffpa_jit::api
