#include "properties/random_features.h"

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

struct Row {
  const char* text;
  // Sizes of t0 and t1 in letters of b, h, q, k, one more letter: r for 7 entries, 1 for one; int32
  // when upper case.
  const char* tensors[2];
};

constexpr Row kModifiers[] = {
    {"score - exp2(-8 * (h + 1) / nh) * abs(q + nk - nq - k)", {}},
    {"2 * tanh(score / 2)", {}},
    {"t0[b, q] == t0[b, k] ? score : -inf", {"BN", nullptr}},
    {"score + t0[min(max(q + nk - nq - k + 3, 0), 6)]", {"r", nullptr}},
    {"score + t0[h, q - k]", {"hr", nullptr}},
    {"score + t0[b, h, q, k] * t1[k]", {"bhqk", "k"}},
    {"where(k % 3 != q // 2 % 3 || k == 0, score, -inf)", {}},
    {"score * (1 + 0.1 * log(1 + abs(score))) - sqrt(abs(score) + 0.25) + floor(score) * 0.125",
     {}},
    {"max(min(score, 3), -3) + log2(k + 1) * 0.1 - exp(-k) * 0.5", {}},
    {"!(k < 4 && q > 2) ? score + int(t0[0]) * 0.01 : score - 1.5", {"1", nullptr}},
    {"t1[q, b] > 0 ? score : -inf", {nullptr, "Qb"}},
};

}  // namespace

RandomFeatures::RandomFeatures(uint64_t seed)
    : RandomFeatures(
          seed, Wanted{seed % 2 == 0, seed / 2 % 2 == 0, seed / 4 % 2 == 0, seed / 8 % 2 == 0}) {}

RandomFeatures::RandomFeatures(uint64_t seed, const Wanted& wanted)
    : problem_(seed), random_(seed ^ 0x5bd1e995), args_(problem_.args()), text_(problem_.text()) {
  const bool varlen = args_.layout == FFPA_JIT_VARLEN;
  batch_ = varlen ? args_.cu_seqlens_q.sizes[0] - 1 : args_.q.sizes[0];
  heads_ = args_.q.sizes[args_.layout == FFPA_JIT_BNHD ? 2 : 1];
  const int row = args_.layout == FFPA_JIT_BHND ? 2 : 1;
  seqlen_q_ = varlen ? args_.max_seqlen_q : args_.q.sizes[row];
  seqlen_k_ = varlen ? args_.max_seqlen_k : args_.k.sizes[row];
  if (wanted.modifier) draw_modifier();
  if (wanted.sinks) draw_sinks();
  if (varlen) return;
  // A bias or mask is as wide as the pages together: only what has a key dimension of 1 still fits
  // when they grow.
  const bool fits = (!args_.mask.data || args_.mask.sizes[args_.mask.rank - 1] == 1) &&
                    (!args_.bias.data || args_.bias.sizes[args_.bias.rank - 1] == 1) &&
                    args_.dropout_p == 0;
  if (wanted.seqlens_k || wanted.pages) draw_lengths();
  if (wanted.pages && (fits || seqlen_k_ == 0)) {
    draw_pages(wanted.smallest_page);
  } else if (wanted.seqlens_k || wanted.pages) {
    hide_keys_past_lengths();
  }
}

int64_t RandomFeatures::pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

float RandomFeatures::normal() {
  const double u = (static_cast<double>(random_() >> 11) + 1) * 0x1p-53;
  const double v = static_cast<double>(random_() >> 11) * 0x1p-53;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
}

ffpa_jit_tensor RandomFeatures::make_tensor(int32_t dtype, const std::vector<int64_t>& sizes) {
  ffpa_jit_tensor t{};
  t.dtype = dtype;
  t.rank = static_cast<int32_t>(sizes.size());
  int64_t count = 1;
  for (int dim = t.rank - 1; dim >= 0; --dim) {
    t.sizes[dim] = sizes[dim];
    t.strides[dim] = count;
    count *= sizes[dim];
  }
  memory_.push_back(std::make_unique<uint64_t[]>(static_cast<size_t>(count) / 2 + 1));
  t.data = memory_.back().get();
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == FFPA_JIT_INT32) {
      static_cast<int32_t*>(t.data)[i] = static_cast<int32_t>(pick(0, 2));
    } else {
      static_cast<float*>(t.data)[i] = normal();
    }
  }
  return t;
}

void RandomFeatures::draw_modifier() {
  const Row& row = kModifiers[pick(0, std::size(kModifiers) - 1)];
  modifier_ = row.text;
  for (int i = 0; i < 2; ++i) {
    if (!row.tensors[i]) continue;
    std::vector<int64_t> sizes;
    bool integer = false;
    for (const char* letter = row.tensors[i]; *letter; ++letter) {
      integer = integer || (*letter >= 'A' && *letter <= 'Z');
      switch (*letter | 0x20) {
        case 'b':
          sizes.push_back(batch_);
          break;
        case 'h':
          sizes.push_back(heads_);
          break;
        case 'q':
          sizes.push_back(seqlen_q_);
          break;
        case 'k':
          sizes.push_back(seqlen_k_ + 70);  // longer than needed, also when pages round up
          break;
        case 'n':
          sizes.push_back(std::max(seqlen_q_, seqlen_k_ + 70));
          break;
        case 'r':
          sizes.push_back(7);
          break;
        default:
          sizes.push_back(1);
      }
    }
    args_.modifier_tensors[i] = make_tensor(integer ? FFPA_JIT_INT32 : FFPA_JIT_FP32, sizes);
  }
  args_.score_modifier = modifier_.c_str();
  text_ += fmt::format(" modifier='{}'", modifier_);
}

void RandomFeatures::draw_sinks() {
  args_.sinks = make_tensor(FFPA_JIT_FP32, {heads_});
  auto* sinks = static_cast<float*>(args_.sinks.data);
  for (int64_t h = 0; h < heads_; ++h) {
    if (pick(0, 5) == 0) sinks[h] = -std::numeric_limits<float>::infinity();
    if (pick(0, 5) == 0) sinks[h] = 20;
  }
  text_ += " sinks";
}

void RandomFeatures::draw_lengths() {
  for (int64_t b = 0; b < batch_; ++b) lengths_.push_back(static_cast<int32_t>(pick(0, seqlen_k_)));
  if (!lengths_.empty()) lengths_[0] = static_cast<int32_t>(seqlen_k_);
  ffpa_jit_tensor t{};
  t.data = lengths_.data();
  t.dtype = FFPA_JIT_INT32;
  t.rank = 1;
  t.sizes[0] = batch_;
  t.strides[0] = 1;
  if (lengths_.empty()) t.data = &batch_;
  args_.seqlens_k = t;
  text_ += fmt::format(" seqlens_k=[{}]", fmt::join(lengths_, ","));
}

// What lies past a length must not matter.
void RandomFeatures::hide_keys_past_lengths() {
  const int head = args_.layout == FFPA_JIT_BHND ? 1 : 2, row = 3 - head;
  for (ffpa_jit_tensor* t : {&args_.k, &args_.v}) {
    for (int64_t b = 0; b < batch_; ++b) {
      for (int64_t h = 0; h < t->sizes[head]; ++h) {
        for (int64_t key = lengths_[b]; key < t->sizes[row]; ++key) {
          for (int64_t d = 0; d < t->sizes[3]; ++d) {
            write_element(t->data, t->dtype,
                          b * t->strides[0] + h * t->strides[head] + key * t->strides[row] + d,
                          kNan);
          }
        }
      }
    }
  }
}

void RandomFeatures::draw_pages(int smallest) {
  const int64_t page_size = smallest > 1 ? smallest << pick(0, 2) : pick(1, 40);
  const int64_t max_pages = (seqlen_k_ + page_size - 1) / page_size;
  const int64_t needed = batch_ * max_pages, num_pages = needed + 3;
  std::vector<int32_t> order(static_cast<size_t>(num_pages));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
  const int64_t stride = max_pages + 2;
  table_.assign(static_cast<size_t>(batch_ * stride + 1), 0x7fffffff);  // never to be read
  for (int64_t b = 0; b < batch_; ++b) {
    for (int64_t i = 0; i * page_size < lengths_[b]; ++i) {
      table_[b * stride + i] = order[b * max_pages + i];
    }
  }
  ffpa_jit_tensor t{};
  t.data = table_.data();
  t.dtype = FFPA_JIT_INT32;
  t.rank = 2;
  t.sizes[0] = batch_;
  t.sizes[1] = max_pages;
  t.strides[0] = stride;
  t.strides[1] = 1;
  args_.block_table = t;
  move_into_pages(args_.k, page_size, num_pages);
  move_into_pages(args_.v, page_size, num_pages);
  text_ += fmt::format(" pages={}x{} of {}", max_pages, page_size, num_pages);
}

void RandomFeatures::move_into_pages(ffpa_jit_tensor& tensor, int64_t page_size,
                                     int64_t num_pages) {
  const ffpa_jit_tensor from = tensor;
  const int head = args_.layout == FFPA_JIT_BHND ? 1 : 2, row = 3 - head;
  tensor.sizes[0] = num_pages;
  tensor.sizes[row] = page_size;
  tensor.strides[3] = 1;
  const int64_t gap = pick(0, 1) * 8;  // rows that are slices of longer ones
  const int inner = args_.layout == FFPA_JIT_BHND ? row : head, outer = 3 - inner;
  tensor.strides[inner] = tensor.sizes[3] + gap;
  tensor.strides[outer] = tensor.strides[inner] * tensor.sizes[inner];
  tensor.strides[0] = tensor.strides[outer] * tensor.sizes[outer];
  const int64_t count = tensor.strides[0] * num_pages + 1;
  memory_.push_back(std::make_unique<uint64_t[]>(static_cast<size_t>(count) / 2 + 1));
  tensor.data = memory_.back().get();
  for (int64_t i = 0; i < count; ++i) write_element(tensor.data, tensor.dtype, i, kNan);
  for (int64_t b = 0; b < batch_; ++b) {
    for (int64_t key = 0; key < lengths_[b]; ++key) {
      const int64_t page = table_[b * args_.block_table.strides[0] + key / page_size];
      for (int64_t h = 0; h < from.sizes[head]; ++h) {
        for (int64_t d = 0; d < from.sizes[3]; ++d) {
          const double value = read_element(from.data, from.dtype,
                                            b * from.strides[0] + h * from.strides[head] +
                                                key * from.strides[row] + d * from.strides[3]);
          write_element(tensor.data, tensor.dtype,
                        page * tensor.strides[0] + h * tensor.strides[head] +
                            key % page_size * tensor.strides[row] + d,
                        static_cast<float>(value));
        }
      }
    }
  }
}

}  // namespace ffpa_jit::properties
