#include "api/attention_args.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "api/argument_parts.h"
#include "api/tensor_check.h"
#include "base/error.h"

namespace ffpa_jit::api {
namespace {

Layout checked_layout(int32_t layout) {
  switch (layout) {
    case FFPA_JIT_BHND:
      return Layout::kBhnd;
    case FFPA_JIT_BNHD:
      return Layout::kBnhd;
    case FFPA_JIT_VARLEN:
      return Layout::kVarlen;
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
    case FFPA_JIT_CUDA:
      return {TargetKind::kCuda, args.device_index};
    case FFPA_JIT_EMULATED_CUDA:
      return {TargetKind::kEmulator, args.device_index};
  }
  throw_error(
      FFPA_JIT_INVALID_ARGUMENT,
      "device_kind is {}; allowed: FFPA_JIT_CPU (0), FFPA_JIT_CUDA (1), FFPA_JIT_EMULATED_CUDA (2)",
      args.device_kind);
}

double finite(double value, std::string_view name) {
  // The kernels compute in fp32: what does not fit there is an infinity to them.
  if (!std::isfinite(static_cast<float>(value))) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; it must be a finite fp32 number", name,
                value);
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

  p.softmax_scale = static_cast<float>(
      args.has_softmax_scale ? finite(args.softmax_scale, "softmax_scale")
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

bool checked_accumulate(const ffpa_jit_attention_args& args, DType dtype) {
  if (args.accumulate == FFPA_JIT_ACCUMULATE_FP32) return false;
  if (args.accumulate != FFPA_JIT_ACCUMULATE_FP16 || dtype != DType::kFp16) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "accumulate is {} with {} tensors; allowed: FFPA_JIT_ACCUMULATE_FP32 (0), and "
                "FFPA_JIT_ACCUMULATE_FP16 (1) with fp16 tensors",
                args.accumulate, name_of(dtype));
  }
  return true;
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
  const std::array<Read, 10> reads{{{args.q, "q", bytes},
                                    {args.k, "k", bytes},
                                    {args.v, "v", bytes},
                                    {args.mask, "mask", 1},
                                    {args.bias, "bias", bytes_of(call.problem.bias_dtype)},
                                    {args.cu_seqlens_q, "cu_seqlens_q", sizeof(int32_t)},
                                    {args.cu_seqlens_k, "cu_seqlens_k", sizeof(int32_t)},
                                    {args.sinks, "sinks", sizeof(float)},
                                    {args.seqlens_k, "seqlens_k", sizeof(int32_t)},
                                    {args.block_table, "block_table", sizeof(int32_t)}}};
  for (const Read& read : reads) {
    check_disjoint(args.o, "o", bytes, read.tensor, read.name, read.bytes);
    check_disjoint(args.lse, "lse", sizeof(float), read.tensor, read.name, read.bytes);
  }
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    if (call.problem.modifier_tensors[i].rank == 0) continue;
    const ffpa_jit_tensor& tensor = args.modifier_tensors[i];
    check_memory(tensor, kModifierTensorNames[i]);
    check_disjoint(args.o, "o", bytes, tensor, kModifierTensorNames[i], sizeof(float));
    check_disjoint(args.lse, "lse", sizeof(float), tensor, kModifierTensorNames[i], sizeof(float));
  }
  check_disjoint(args.lse, "lse", sizeof(float), args.o, "o", bytes);
  if (call.problem.sinks) check_memory(args.sinks, "sinks");
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
  add(args.sinks, "sinks", sizeof(float), false);
  add(args.seqlens_k, "seqlens_k", sizeof(int32_t), false);
  add(args.block_table, "block_table", sizeof(int32_t), false);
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    add(args.modifier_tensors[i], kModifierTensorNames[i], sizeof(float), false);
  }
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
  read_key_lengths(args, purpose, call);
  read_varlen(args, purpose, call);
  read_masks(args, call);
  read_modifier(args, call);
  read_sinks(args, call);
  check_no_self_overlap(args.o, "o");
  read_lse(args, call);
  read_numbers(args, call);
  call.problem.fp16_accumulate = checked_accumulate(args, call.problem.dtype);
  validate(call.problem, call.shape);
  if (purpose == Purpose::kLaunch) check_memory_of(args, call);
  if (call.device.kind == TargetKind::kEmulator) read_ranges(args, call);
  return call;
}

}  // namespace ffpa_jit::api
