#include "templates/cuda/attention_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "reference/attention_reference.h"

namespace ffpa_jit::testing {
namespace {

size_t bytes_of(int32_t dtype) {
  return dtype == FFPA_JIT_FP32 || dtype == FFPA_JIT_INT32 ? 4 : dtype == FFPA_JIT_BOOL ? 1 : 2;
}

}  // namespace

std::vector<unsigned char>& AttentionCase::memory(size_t bytes) {
  // 0xff: NaN in every floating type, true in a mask.
  return memory_.emplace_back(bytes, 0xff);
}

// [B, H, N, D] in the spec's layout, rows padded; varlen [T, H, D].
ffpa_jit_tensor AttentionCase::activation(int64_t heads, int64_t rows, int64_t columns,
                                          float scale) {
  const int64_t row = columns + spec_.row_padding;
  ffpa_jit_tensor t{};
  t.dtype = spec_.dtype;
  const bool varlen = spec_.layout == FFPA_JIT_VARLEN;
  const int64_t batch = varlen ? 1 : spec_.batch;
  if (varlen) {
    t.rank = 3;
    const int64_t sizes[] = {rows, heads, columns}, strides[] = {heads * row, row, 1};
    std::copy_n(sizes, 3, t.sizes);
    std::copy_n(strides, 3, t.strides);
  } else if (spec_.layout == FFPA_JIT_BNHD) {
    t.rank = 4;
    const int64_t sizes[] = {batch, rows, heads, columns};
    const int64_t strides[] = {rows * heads * row, heads * row, row, 1};
    std::copy_n(sizes, 4, t.sizes);
    std::copy_n(strides, 4, t.strides);
  } else {
    t.rank = 4;
    const int64_t sizes[] = {batch, heads, rows, columns};
    const int64_t strides[] = {heads * rows * row, rows * row, row, 1};
    std::copy_n(sizes, 4, t.sizes);
    std::copy_n(strides, 4, t.strides);
  }
  const int64_t count = batch * heads * rows * row;
  t.data = memory(std::max<int64_t>(count, 1) * bytes_of(t.dtype)).data();
  std::normal_distribution<float> normal;
  if (scale != 0) {
    for (int64_t i = 0; i < count; ++i) {
      if (i % row < columns) reference::write_element(t.data, t.dtype, i, scale * normal(random_));
    }
  }
  return t;
}

ffpa_jit_tensor AttentionCase::mask_like(const std::string& pattern, ffpa_jit_dtype dtype) {
  ffpa_jit_tensor t{};
  t.dtype = dtype;
  t.rank = 4;
  const int64_t full[] = {spec_.batch, spec_.heads, spec_.nq, spec_.nk};
  int64_t stride = 1;
  for (int i = 3; i >= 0; --i) {
    t.sizes[i] = pattern[i] == '1' ? 1 : full[i];
    t.strides[i] = stride;
    stride *= t.sizes[i];
    if (i == 3 && spec_.mask_rows_aligned) {
      const auto at_once = static_cast<int64_t>(16 / bytes_of(dtype));
      stride = (stride + at_once - 1) / at_once * at_once;
    }
  }
  const int64_t pitch = t.strides[2];
  t.data = memory(std::max<int64_t>(stride, 1) * bytes_of(dtype)).data();
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < stride; ++i) {
    const int64_t key = t.sizes[3] > 1 ? i % pitch : 0, row = i / pitch;
    // Every fifth row sees nothing; the keys on the left are padding; a third of the rest is
    // hidden.
    const bool hidden = (t.sizes[2] > 1 && row % 5 == 3) ||
                        (t.sizes[3] > 1 && key < spec_.nk / 3) || random_() % 3 == 0;
    if (dtype == FFPA_JIT_BOOL) {
      static_cast<unsigned char*>(t.data)[i] = hidden ? 0 : 1 + random_() % 255;
    } else {
      float value = normal(random_);
      if (hidden) value = random_() % 2 ? -std::numeric_limits<float>::infinity() : -1e4f;
      reference::write_element(t.data, dtype, i, value);
    }
  }
  return t;
}

AttentionCase::AttentionCase(const CaseSpec& spec, uint64_t seed) : spec_(spec), random_(seed) {
  memory_.reserve(16);
  int64_t rows_q = spec_.nq, rows_k = spec_.nk;
  args_.layout = spec_.layout;
  if (spec_.layout == FFPA_JIT_VARLEN) {
    spec_.batch = static_cast<int64_t>(spec_.lengths_q.size());
    const auto packed = [&](const std::vector<int>& lengths, int64_t& rows, int64_t& longest) {
      ffpa_jit_tensor t{};
      t.dtype = FFPA_JIT_INT32;
      t.rank = 1;
      t.sizes[0] = static_cast<int64_t>(lengths.size()) + 1;
      t.strides[0] = 1;
      int* offsets = reinterpret_cast<int*>(memory(t.sizes[0] * 4).data());
      offsets[0] = 0;
      std::partial_sum(lengths.begin(), lengths.end(), offsets + 1);
      rows = offsets[lengths.size()];
      longest = *std::max_element(lengths.begin(), lengths.end());
      t.data = offsets;
      return t;
    };
    args_.cu_seqlens_q = packed(spec_.lengths_q, rows_q, spec_.nq);
    args_.cu_seqlens_k = packed(spec_.lengths_k, rows_k, spec_.nk);
    args_.max_seqlen_q = spec_.nq += 3;  // an upper bound, not the maximum
    args_.max_seqlen_k = spec_.nk += 5;
  }
  args_.device_kind = FFPA_JIT_CUDA;
  args_.q = activation(spec_.heads, rows_q, spec_.d, spec_.q_scale);
  args_.k = activation(spec_.heads_kv, rows_k, spec_.d, 1);
  args_.v = activation(spec_.heads_kv, rows_k, spec_.dv, 1);
  args_.o = activation(spec_.heads, rows_q, spec_.dv, 0);
  outputs_ = static_cast<size_t>((spec_.layout == FFPA_JIT_VARLEN ? 1 : spec_.batch) * spec_.heads *
                                 rows_q * spec_.dv);
  if (spec_.lse) {
    ffpa_jit_tensor& t = args_.lse;
    t.dtype = FFPA_JIT_FP32;
    if (spec_.layout == FFPA_JIT_VARLEN) {
      t.rank = 2;
      t.sizes[0] = spec_.heads;
      t.sizes[1] = t.strides[0] = rows_q;
      t.strides[1] = 1;
    } else {
      t.rank = 3;
      const int64_t sizes[] = {spec_.batch, spec_.heads, rows_q};
      const int64_t strides[] = {spec_.heads * rows_q, rows_q, 1};
      std::copy_n(sizes, 3, t.sizes);
      std::copy_n(strides, 3, t.strides);
    }
    t.data = memory(std::max<int64_t>(spec_.heads * rows_q * spec_.batch, 1) * 4).data();
  }
  if (!spec_.mask.empty()) args_.mask = mask_like(spec_.mask, FFPA_JIT_BOOL);
  if (!spec_.bias.empty()) args_.bias = mask_like(spec_.bias, spec_.bias_dtype);
  if (spec_.poison_hidden) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int64_t key = 0; key < spec_.nk; ++key) {
      if (spec_.mask == "111k" && static_cast<unsigned char*>(args_.mask.data)[key]) continue;
      if (spec_.mask != "111k" && key % 7 != 2) continue;
      for (int64_t head = 0; head < spec_.batch * spec_.heads_kv; ++head) {
        const int64_t row = head * spec_.nk + key;
        reference::write_element(args_.k.data, spec_.dtype, row * (spec_.d + spec_.row_padding),
                                 nan);
        reference::write_element(args_.v.data, spec_.dtype, row * (spec_.dv + spec_.row_padding),
                                 nan);
      }
    }
  }
  args_.is_causal = spec_.causal;
  args_.window_left = spec_.window_left;
  args_.window_right = spec_.window_right;
  args_.softcap = spec_.softcap;
  args_.dropout_p = spec_.dropout;
  args_.philox_seed = 0x123456789abcdefull + seed;
  args_.philox_offset = (uint64_t{1} << 33) + 1;
  if (spec_.philox_from_memory) {
    auto* state = reinterpret_cast<uint64_t*>(memory(16).data());
    state[0] = 77 + seed;
    state[1] = 4 * seed + 2;
    args_.philox_state = state;
  }
}

void AttentionCase::poison_output() {
  const int64_t rows = args_.o.sizes[0] * args_.o.strides[0];
  std::memset(args_.o.data, 0xff, static_cast<size_t>(rows) * bytes_of(args_.o.dtype));
  if (args_.lse.data)
    std::memset(args_.lse.data, 0xff,
                static_cast<size_t>(args_.lse.sizes[0] * args_.lse.strides[0]) * 4);
}

}  // namespace ffpa_jit::testing
