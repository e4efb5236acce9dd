#include "ffpa-jit/synthetic_inputs.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "base/float16.h"

namespace ffpa_jit::cli {
namespace {

// Elements of the repeated block: no multiple of a row, so that rows and heads differ.
constexpr size_t kBlock = 1'000'003;
constexpr uint64_t kSeed = 2024;

std::vector<std::byte> random_block(DType dtype) {
  std::mt19937_64 random(kSeed);
  std::normal_distribution<float> normal;
  std::vector<std::byte> block(kBlock * bytes_of(dtype));
  for (size_t i = 0; i < kBlock; ++i) {
    std::byte* to = block.data() + i * bytes_of(dtype);
    if (dtype == DType::kBool) {
      *to = static_cast<std::byte>(random() % 5 != 0);
      continue;
    }
    const float value = normal(random);
    if (dtype == DType::kFp32) {
      std::memcpy(to, &value, sizeof(value));
    } else {
      const uint16_t bits = dtype == DType::kBf16 ? bf16_from_float(value) : fp16_from_float(value);
      std::memcpy(to, &bits, sizeof(bits));
    }
  }
  return block;
}

std::vector<int64_t> masked_sizes(const BroadcastPattern& p, const Shape& s) {
  return {p.batch ? s.batch : 1, p.head ? s.heads_q : 1, p.query ? s.seqlen_q : 1,
          p.key ? s.seqlen_k : 1};
}

}  // namespace

SyntheticInputs::SyntheticInputs(const RecordedProblem& problem, const DeviceRef& ref,
                                 std::shared_ptr<Device> device)
    : device_(std::move(device)),
      family_(problem.family),
      modifier_(problem.problem.score_modifier) {
  args_.device_kind = device_kind_of(ref);
  args_.device_index = ref.index;
  args_.is_causal = problem.problem.causal;
  args_.window_left = problem.window_left;
  args_.window_right = problem.problem.causal ? -1 : problem.window_right;
  args_.softcap = problem.softcap;
  args_.dropout_p = problem.dropout;
  args_.accumulate =
      problem.problem.fp16_accumulate ? FFPA_JIT_ACCUMULATE_FP16 : FFPA_JIT_ACCUMULATE_FP32;
  if (!family_.empty()) args_.family = family_.c_str();
  set_tensors(problem);
  set_key_lengths(problem);
  device_->synchronize(nullptr);
}

SyntheticInputs::~SyntheticInputs() {
  for (void* memory : allocations_) device_->release(memory, nullptr);
}

void SyntheticInputs::set_tensors(const RecordedProblem& recorded) {
  const Problem& p = recorded.problem;
  const Shape& s = recorded.shape;
  const int64_t d = p.head_dim, dv = p.head_dim_v;
  const int64_t pages = p.page_size ? s.batch * (s.seqlen_k / p.page_size) : s.batch;
  const int64_t rows_k = p.page_size ? p.page_size : s.seqlen_k;
  switch (p.layout) {
    case Layout::kBhnd:
      args_.layout = FFPA_JIT_BHND;
      args_.q = random(p.dtype, {s.batch, s.heads_q, s.seqlen_q, d});
      args_.k = random(p.dtype, {pages, s.heads_kv, rows_k, d});
      args_.v = random(p.dtype, {pages, s.heads_kv, rows_k, dv});
      args_.o = empty(c_dtype(p.dtype), {s.batch, s.heads_q, s.seqlen_q, dv}, bytes_of(p.dtype));
      break;
    case Layout::kBnhd:
      args_.layout = FFPA_JIT_BNHD;
      args_.q = random(p.dtype, {s.batch, s.seqlen_q, s.heads_q, d});
      args_.k = random(p.dtype, {pages, rows_k, s.heads_kv, d});
      args_.v = random(p.dtype, {pages, rows_k, s.heads_kv, dv});
      args_.o = empty(c_dtype(p.dtype), {s.batch, s.seqlen_q, s.heads_q, dv}, bytes_of(p.dtype));
      break;
    case Layout::kVarlen:
      args_.layout = FFPA_JIT_VARLEN;
      args_.q = random(p.dtype, {s.total_q, s.heads_q, d});
      args_.k = random(p.dtype, {s.total_k, s.heads_kv, d});
      args_.v = random(p.dtype, {s.total_k, s.heads_kv, dv});
      args_.o = empty(c_dtype(p.dtype), {s.total_q, s.heads_q, dv}, bytes_of(p.dtype));
      args_.cu_seqlens_q =
          filled(FFPA_JIT_INT32, {s.batch + 1}, sequence_offsets(s.batch, s.total_q, s.seqlen_q));
      args_.cu_seqlens_k =
          filled(FFPA_JIT_INT32, {s.batch + 1}, sequence_offsets(s.batch, s.total_k, s.seqlen_k));
      args_.max_seqlen_q = s.seqlen_q;
      args_.max_seqlen_k = s.seqlen_k;
      break;
  }
  if (p.lse) {
    args_.lse =
        empty(FFPA_JIT_FP32,
              p.layout == Layout::kVarlen ? std::vector<int64_t>{s.heads_q, s.total_q}
                                          : std::vector<int64_t>{s.batch, s.heads_q, s.seqlen_q},
              sizeof(float));
  }
  if (p.has_mask) args_.mask = random(DType::kBool, masked_sizes(p.mask_pattern, s));
  if (p.has_bias) args_.bias = random(p.bias_dtype, masked_sizes(p.bias_pattern, s));
  if (p.sinks) args_.sinks = random(DType::kFp32, {s.heads_q});
  if (modifier_.empty()) return;
  args_.score_modifier = modifier_.c_str();
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    const ModifierTensor& tensor = p.modifier_tensors[i];
    if (tensor.rank == 0) continue;
    const std::vector<int64_t>& sizes = recorded.modifier_sizes[i];
    // Whole numbers: all equal, as the documents of one sequence are.
    args_.modifier_tensors[i] = tensor.dtype == DType::kInt32 ? filled(FFPA_JIT_INT32, sizes, {})
                                                              : random(DType::kFp32, sizes);
  }
}

void SyntheticInputs::set_key_lengths(const RecordedProblem& recorded) {
  const Problem& p = recorded.problem;
  const Shape& s = recorded.shape;
  if (p.seqlens_k) {
    args_.seqlens_k = filled(
        FFPA_JIT_INT32, {s.batch},
        std::vector<int32_t>(static_cast<size_t>(s.batch), static_cast<int32_t>(s.seqlen_k)));
  }
  if (p.page_size == 0) return;
  // Every page once, in drawn order, as after some time of serving.
  std::vector<int32_t> table(static_cast<size_t>(s.batch * (s.seqlen_k / p.page_size)));
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), std::mt19937_64(kSeed));
  args_.block_table = filled(FFPA_JIT_INT32, {s.batch, s.seqlen_k / p.page_size}, table);
}

ffpa_jit_tensor SyntheticInputs::empty(ffpa_jit_dtype dtype, std::vector<int64_t> sizes,
                                       size_t element_bytes) {
  size_t bytes = element_bytes;
  for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
  void* memory = device_->allocate(std::max<size_t>(bytes, 1), nullptr);
  allocations_.push_back(memory);
  return ffpa::tensor(memory, dtype, sizes);
}

ffpa_jit_tensor SyntheticInputs::filled(ffpa_jit_dtype dtype, std::vector<int64_t> sizes,
                                        const std::vector<int32_t>& values) {
  const ffpa_jit_tensor out = empty(dtype, sizes, sizeof(int32_t));
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  if (values.empty()) {
    device_->fill(out.data, 0, count * sizeof(int32_t), nullptr);
  } else {
    device_->copy_to_device(out.data, values.data(), count * sizeof(int32_t), nullptr);
    device_->synchronize(nullptr);
  }
  return out;
}

ffpa_jit_tensor SyntheticInputs::random(DType dtype, std::vector<int64_t> sizes) {
  const ffpa_jit_tensor out = empty(c_dtype(dtype), sizes, bytes_of(dtype));
  size_t bytes = bytes_of(dtype);
  for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
  const std::vector<std::byte> block = random_block(dtype);
  for (size_t begin = 0; begin < bytes; begin += block.size()) {
    device_->copy_to_device(static_cast<std::byte*>(out.data) + begin, block.data(),
                            std::min(block.size(), bytes - begin), nullptr);
  }
  device_->synchronize(nullptr);
  return out;
}

}  // namespace ffpa_jit::cli
