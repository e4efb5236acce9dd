#include "properties/random_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "reference/attention_reference.h"

namespace ffpa_jit::properties {
namespace {

using reference::read_element;
using reference::write_element;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float lowest_of(int32_t dtype) {
  return dtype == FFPA_JIT_FP16   ? -65504.0f
         : dtype == FFPA_JIT_BF16 ? -0x1.fep127f
                                  : std::numeric_limits<float>::lowest();
}

size_t bytes_of_dtype(int32_t dtype) { return dtype == FFPA_JIT_FP32 ? 4 : 2; }

// Calls visit(element offset) for every element of a tensor.
template <typename Visit>
void for_each_element(const ffpa_jit_tensor& t, const Visit& visit) {
  const int64_t count = std::accumulate(t.sizes, t.sizes + t.rank, int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = 0;
    for (int dim = t.rank - 1; dim >= 0; --dim) {
      offset += rest % t.sizes[dim] * t.strides[dim];
      rest /= t.sizes[dim];
    }
    visit(offset);
  }
}

}  // namespace

RandomProblem::RandomProblem(uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15u + 1) {
  draw_sizes();
  draw_scalars();
  draw_activations();
  if (chance(0.35)) draw_mask();
  if (chance(0.35)) draw_bias();
  poison_hidden_keys();
  describe(seed);
}

int64_t RandomProblem::pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

bool RandomProblem::chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

float RandomProblem::normal() {  // Box-Muller: std::normal_distribution differs between libraries
  const double u = (static_cast<double>(random_() >> 11) + 1) * 0x1p-53;
  const double v = static_cast<double>(random_() >> 11) * 0x1p-53;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
}

void RandomProblem::draw_sizes() {
  static constexpr int kHeadDims[] = {1,  3,  8,   16,  20,  32,  40,  64,  64, 72,
                                      80, 96, 128, 128, 136, 192, 256, 320, 512};
  static constexpr int kLengths[] = {1,  2,  5,  7,  8,  15,  16,  17,  31,  32,
                                     33, 63, 64, 65, 70, 100, 127, 128, 129, 150};
  batch_ = pick(1, 3);
  heads_kv_ = pick(1, 3);
  heads_q_ = heads_kv_ * pick(1, 4);
  head_dim_ = kHeadDims[pick(0, std::size(kHeadDims) - 1)];
  head_dim_v_ = chance(0.7) ? head_dim_ : kHeadDims[pick(0, std::size(kHeadDims) - 1)];
  seqlen_q_ = kLengths[pick(0, std::size(kLengths) - 1)];
  seqlen_k_ = chance(0.4) ? seqlen_q_ : kLengths[pick(0, std::size(kLengths) - 1)];
  args_.layout = static_cast<int32_t>(pick(0, 2));
  args_.is_causal = chance(0.35);
  // The ends of what is allowed, kept small in everything else.
  if (chance(0.06)) {
    batch_ = heads_kv_ = heads_q_ = 1;
    head_dim_ = chance(0.5) ? 2048 : 1024;
    head_dim_v_ = chance(0.5) ? head_dim_ : 2047;
  } else if (chance(0.06)) {
    batch_ = heads_kv_ = 1;
    heads_q_ = 2;
    seqlen_q_ = pick(200, 400);
    seqlen_k_ = pick(200, 700);
  } else if (chance(0.04)) {
    int64_t* const sizes[] = {&batch_, &seqlen_q_, &seqlen_k_};
    *sizes[pick(0, 2)] = 0;
  }
  // Every query of a causal problem has a place among the keys.
  if (args_.is_causal && 0 < seqlen_k_ && seqlen_k_ < seqlen_q_) std::swap(seqlen_q_, seqlen_k_);
  total_q_ = batch_ * seqlen_q_;
  total_k_ = batch_ * seqlen_k_;
  if (args_.layout != FFPA_JIT_VARLEN) return;
  cu_seqlens_q_ = cu_seqlens_k_ = {0};
  for (int64_t b = 0; b < batch_; ++b) {
    const int64_t length_q = pick(0, seqlen_q_);
    const int64_t length_k =
        args_.is_causal && length_q <= seqlen_k_ ? pick(length_q, seqlen_k_) : pick(0, seqlen_k_);
    cu_seqlens_q_.push_back(cu_seqlens_q_.back() + static_cast<int32_t>(length_q));
    cu_seqlens_k_.push_back(cu_seqlens_k_.back() + static_cast<int32_t>(length_k));
  }
  total_q_ = cu_seqlens_q_.back();
  total_k_ = cu_seqlens_k_.back();
  const auto index_tensor = [&](std::vector<int32_t>& memory) {
    ffpa_jit_tensor t{};
    t.data = memory.data();
    t.dtype = FFPA_JIT_INT32;
    t.rank = 1;
    t.sizes[0] = batch_ + 1;
    t.strides[0] = 1;
    return t;
  };
  args_.cu_seqlens_q = index_tensor(cu_seqlens_q_);
  args_.cu_seqlens_k = index_tensor(cu_seqlens_k_);
  args_.max_seqlen_q = seqlen_q_;
  args_.max_seqlen_k = seqlen_k_;
}

void RandomProblem::draw_scalars() {
  if (chance(0.25)) args_.window_left = pick(0, seqlen_k_);
  if (chance(0.25) && !args_.is_causal) args_.window_right = pick(0, seqlen_k_);
  if (args_.is_causal && chance(0.3)) args_.window_right = pick(0, 3);  // causal is the tighter one
  if (chance(0.3)) {
    args_.has_softmax_scale = 1;
    args_.softmax_scale = chance(0.2) ? 0.0 : 0.05 + 0.01 * static_cast<double>(pick(0, 40));
  }
  if (chance(0.2)) args_.softcap = 0.5 * static_cast<double>(pick(1, 60));
  if (chance(0.25)) {
    args_.dropout_p = 0.01 * static_cast<double>(pick(1, 70));
    args_.philox_seed = random_();
    args_.philox_offset = chance(0.5) ? pick(0, 100) : pick(0, int64_t{1} << 45);
  }
}

std::vector<int64_t> RandomProblem::activation_sizes(int64_t heads, int64_t rows, int64_t total,
                                                     int64_t head_dim) const {
  if (args_.layout == FFPA_JIT_BHND) return {batch_, heads, rows, head_dim};
  if (args_.layout == FFPA_JIT_BNHD) return {batch_, rows, heads, head_dim};
  return {total, heads, head_dim};
}

void RandomProblem::draw_activations() {
  static constexpr int32_t kDtypes[] = {FFPA_JIT_FP32, FFPA_JIT_FP16, FFPA_JIT_BF16};
  const int32_t dtype = kDtypes[pick(0, 2)];
  const float q_magnitude = chance(0.2) ? 8.0f : 1.0f;  // large logits
  args_.q = make_tensor(activation_sizes(heads_q_, seqlen_q_, total_q_, head_dim_), dtype,
                        q_magnitude, q_);
  args_.k = make_tensor(activation_sizes(heads_kv_, seqlen_k_, total_k_, head_dim_), dtype, 1, k_);
  args_.v =
      make_tensor(activation_sizes(heads_kv_, seqlen_k_, total_k_, head_dim_v_), dtype, 1, v_);
  args_.o = make_tensor(activation_sizes(heads_q_, seqlen_q_, total_q_, head_dim_v_), dtype, 0, o_);
  if (chance(0.5)) {
    const std::vector<int64_t> sizes = args_.layout == FFPA_JIT_VARLEN
                                           ? std::vector<int64_t>{heads_q_, total_q_}
                                           : std::vector<int64_t>{batch_, heads_q_, seqlen_q_};
    args_.lse = make_tensor(sizes, FFPA_JIT_FP32, 0, lse_);
  }
  poison_output();
}

ffpa_jit_tensor RandomProblem::make_tensor(const std::vector<int64_t>& sizes, int32_t dtype,
                                           float magnitude, Buffer& buffer) {
  ffpa_jit_tensor t{};
  t.dtype = dtype;
  t.rank = static_cast<int32_t>(sizes.size());
  const bool gaps = chance(0.5);  // a slice of something larger
  int64_t stride = 1;
  for (int dim = t.rank - 1; dim >= 0; --dim) {
    t.sizes[dim] = sizes[dim];
    t.strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
    if (gaps && dim > 0) stride += pick(0, 9);
    if (!gaps && &buffer == &bias_ && dim == t.rank - 1)
      stride = padded_row(stride, bytes_of_dtype(dtype));
  }
  const int64_t begin = gaps ? pick(0, 5) : 0;
  const int64_t elements = begin + stride + 16;
  buffer.dtype = dtype;
  buffer.words.assign((elements * bytes_of_dtype(dtype) + 7) / 8, 0);
  buffer.used.assign(elements, false);
  for (int64_t i = 0; i < elements; ++i) write_element(buffer.data(), dtype, i, kNan);
  t.data = static_cast<char*>(buffer.data()) + begin * bytes_of_dtype(dtype);
  for_each_element(t, [&](int64_t offset) {
    buffer.used[begin + offset] = true;
    write_element(t.data, dtype, offset, magnitude * normal());
  });
  return t;
}

std::vector<int64_t> RandomProblem::broadcast_sizes() {
  const auto full_or_one = [&](int64_t size) { return chance(0.5) ? size : 1; };
  switch (pick(0, 5)) {
    case 0:
      return {full_or_one(seqlen_q_), seqlen_k_};
    case 1:
      return {full_or_one(batch_), full_or_one(seqlen_q_), full_or_one(seqlen_k_)};
    default:
      return {full_or_one(batch_), full_or_one(heads_q_), full_or_one(seqlen_q_),
              full_or_one(seqlen_k_)};
  }
}

// Rows of half of the masks and biases begin at multiples of 16 bytes, as TMA reads them.
int64_t RandomProblem::padded_row(int64_t elements, int64_t bytes) const {
  if (seqlen_q_ % 2 != 0) return elements;
  const int64_t at_once = 16 / bytes;
  return (elements + at_once - 1) / at_once * at_once;
}

void RandomProblem::draw_mask() {
  const std::vector<int64_t> sizes = broadcast_sizes();
  ffpa_jit_tensor t{};
  t.dtype = FFPA_JIT_BOOL;
  t.rank = static_cast<int32_t>(sizes.size());
  int64_t count = 1;
  for (int dim = t.rank - 1; dim >= 0; --dim) {
    t.sizes[dim] = sizes[dim];
    t.strides[dim] = count;
    count *= sizes[dim];
    if (dim == t.rank - 1) count = padded_row(count, 1);
  }
  mask_.resize(count);
  const int64_t keys = padded_row(sizes.back(), 1);
  const int64_t padding = chance(0.3) ? pick(0, keys) : 0;  // the first keys of every row hidden
  const double hidden = 0.1 * static_cast<double>(pick(0, 9));
  for (int64_t i = 0; i < count; ++i) {
    mask_[i] = i % keys < padding || chance(hidden) ? 0 : static_cast<uint8_t>(pick(1, 255));
  }
  t.data = mask_.data();
  args_.mask = t;
}

void RandomProblem::draw_bias() {
  const int32_t dtype = chance(0.5) ? static_cast<int32_t>(FFPA_JIT_FP32) : args_.q.dtype;
  args_.bias = make_tensor(broadcast_sizes(), dtype, 1, bias_);
  const double hidden = chance(0.5) ? 0.3 : 0;
  // fp16's lowest is not low enough to swallow a score, so that what is left of it is rounding:
  // only fp32 and bf16 have an answer that every order of operations agrees on.
  const double lowest = chance(0.3) && dtype != FFPA_JIT_FP16 ? (chance(0.2) ? 1.0 : 0.5) : 0;
  for_each_element(args_.bias, [&](int64_t offset) {
    if (chance(hidden))
      write_element(args_.bias.data, dtype, offset, -kInfinity);
    else if (chance(lowest))
      write_element(args_.bias.data, dtype, offset, lowest_of(dtype));
  });
}

// Puts NaN and infinity into K and V where no row of any head sees the key, found by running the
// definition of the mask alone: all that a mask or bias hides for the whole batch entry.
void RandomProblem::poison_hidden_keys() {
  if ((!args_.mask.data && !args_.bias.data) || !chance(0.7)) return;
  const auto at = [](const ffpa_jit_tensor& t, int64_t b, int64_t h, int64_t q, int64_t k) {
    const int64_t index[4] = {b, h, q, k};
    int64_t offset = 0;
    for (int dim = 0; dim < t.rank; ++dim) {
      const int full = t.rank == 3 ? (dim == 0 ? 0 : dim + 1) : dim + 4 - t.rank;
      if (t.sizes[dim] != 1) offset += index[full] * t.strides[dim];
    }
    return read_element(t.data, t.dtype, offset);
  };
  const bool varlen = args_.layout == FFPA_JIT_VARLEN;
  const int row_dim = varlen ? 0 : args_.layout == FFPA_JIT_BHND ? 2 : 1;
  const int head_dim = args_.layout == FFPA_JIT_BHND ? 1 : varlen ? 1 : 2;
  for (int64_t b = 0; b < batch_; ++b) {
    const int64_t rows = varlen ? cu_seqlens_q_[b + 1] - cu_seqlens_q_[b] : seqlen_q_;
    const int64_t keys = varlen ? cu_seqlens_k_[b + 1] - cu_seqlens_k_[b] : seqlen_k_;
    for (int64_t k = 0; k < keys; ++k) {
      bool hidden = true;
      for (int64_t h = 0; h < heads_q_ && hidden; ++h) {
        for (int64_t q = 0; q < rows && hidden; ++q) {
          hidden = (args_.mask.data && at(args_.mask, b, h, q, k) == 0) ||
                   (args_.bias.data && at(args_.bias, b, h, q, k) == -kInfinity);
        }
      }
      if (!hidden) continue;
      hidden_keys_poisoned_ = true;
      for (ffpa_jit_tensor* t : {&args_.k, &args_.v}) {
        for (int64_t h = 0; h < heads_kv_; ++h) {
          const int64_t row = varlen ? cu_seqlens_k_[b] + k : k;
          const int64_t base = (varlen ? 0 : b * t->strides[0]) + h * t->strides[head_dim] +
                               row * t->strides[row_dim];
          for (int64_t d = 0; d < t->sizes[t->rank - 1]; ++d) {
            write_element(t->data, t->dtype, base + d,
                          d % 3 == 0   ? kNan
                          : d % 3 == 1 ? kInfinity
                                       : -kInfinity);
          }
        }
      }
    }
  }
}

void RandomProblem::poison_output() {
  for (const ffpa_jit_tensor* t : {&args_.o, &args_.lse}) {
    if (!t->data) continue;
    for_each_element(*t, [&](int64_t offset) { write_element(t->data, t->dtype, offset, kNan); });
  }
}

bool RandomProblem::output_gaps_untouched() const {
  for (const Buffer* buffer : {&o_, &lse_}) {
    for (size_t i = 0; i < buffer->used.size(); ++i) {
      if (!buffer->used[i] && !std::isnan(read_element(buffer->data(), buffer->dtype, i)))
        return false;
    }
  }
  return true;
}

void RandomProblem::describe(uint64_t seed) {
  static constexpr const char* kDtypes[] = {"fp32", "fp16", "bf16"};
  static constexpr const char* kLayouts[] = {"bhnd", "bnhd", "varlen"};
  text_ = fmt::format("seed={} {} {} b={} hq={} hkv={} nq={} nk={} d={} dv={}", seed,
                      kDtypes[args_.q.dtype], kLayouts[args_.layout], batch_, heads_q_, heads_kv_,
                      seqlen_q_, seqlen_k_, head_dim_, head_dim_v_);
  if (args_.layout == FFPA_JIT_VARLEN) {
    text_ += fmt::format(" cu_q=[{}] cu_k=[{}]", fmt::join(cu_seqlens_q_, ","),
                         fmt::join(cu_seqlens_k_, ","));
  }
  if (args_.is_causal) text_ += " causal";
  if (args_.window_left >= 0 || args_.window_right >= 0) {
    text_ += fmt::format(" window={},{}", args_.window_left, args_.window_right);
  }
  const auto sizes = [](const ffpa_jit_tensor& t) {
    return fmt::format("[{}]", fmt::join(t.sizes, t.sizes + t.rank, ","));
  };
  if (args_.mask.data) text_ += " mask=" + sizes(args_.mask);
  if (args_.bias.data)
    text_ += fmt::format(" bias={}{}", kDtypes[args_.bias.dtype], sizes(args_.bias));
  if (hidden_keys_poisoned_) text_ += " poisoned";
  if (args_.has_softmax_scale) text_ += fmt::format(" scale={}", args_.softmax_scale);
  if (args_.softcap != 0) text_ += fmt::format(" softcap={}", args_.softcap);
  if (args_.dropout_p > 0) {
    text_ += fmt::format(" dropout={} philox={},{}", args_.dropout_p, args_.philox_seed,
                         args_.philox_offset);
  }
  if (args_.lse.data) text_ += " lse";
}

}  // namespace ffpa_jit::properties
