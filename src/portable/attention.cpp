#include "portable/attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/float16.h"
#include "kernel/params.h"
#include "portable/dropout.h"
#include "portable/tile_loops.h"
#include "problem/modifier/evaluate.h"
#include "problem/modifier/parse.h"

namespace ffpa_jit::portable {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint64_t kAll = ~uint64_t{0};

// Bits [0, count).
constexpr uint64_t low_bits(int64_t count) {
  return count <= 0 ? 0 : count >= 64 ? kAll : (uint64_t{1} << count) - 1;
}

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

template <DType kDType>
void load_row(const void* base, int64_t offset, int count, float* out) {
  if constexpr (kDType == DType::kFp32) {
    std::memcpy(out, static_cast<const float*>(base) + offset, count * sizeof(float));
  } else {
    const uint16_t* in = static_cast<const uint16_t*>(base) + offset;
    for (int i = 0; i < count; ++i) {
      out[i] = kDType == DType::kBf16 ? float_from_bf16(in[i]) : float_from_fp16(in[i]);
    }
  }
}

template <DType kDType>
void store_row(void* base, int64_t offset, int count, const float* row, float factor) {
  for (int i = 0; i < count; ++i) {
    const float x = row[i] * factor;
    if constexpr (kDType == DType::kFp32) {
      static_cast<float*>(base)[offset + i] = x;
    } else {
      static_cast<uint16_t*>(base)[offset + i] =
          kDType == DType::kBf16 ? bf16_from_float(x) : fp16_from_float(x);
    }
  }
}

bool all_finite(const float* x, int count) {
  uint32_t special = 0;
  for (int i = 0; i < count; ++i) {
    special |= static_cast<uint32_t>((std::bit_cast<uint32_t>(x[i]) & 0x7f800000u) == 0x7f800000u);
  }
  return special == 0;
}

// The largest of a row; NaN when the last of them is NaN, and never smaller than -inf.
float row_max(const float* x) {
  float lane[16];
  std::fill_n(lane, 16, -kInfinity);
  for (int i = 0; i < kBlockN; i += 16) {
    // Written so that a NaN is taken, not passed over: a row of nothing else must not look hidden.
    for (int j = 0; j < 16; ++j) lane[j] = !(x[i + j] <= lane[j]) ? x[i + j] : lane[j];
  }
  float max = -kInfinity;
  for (float x_lane : lane) max = !(x_lane <= max) ? x_lane : max;
  return max;
}

// The scratch of one thread, in floats; every piece begins at a 64-byte boundary.
struct Scratch {
  Scratch(const Problem& problem, void* memory) {
    auto* next = static_cast<float*>(memory);
    const auto take = [&](size_t floats) {
      float* piece = next;
      const size_t rounded = round_up(floats, 16);
      total += rounded;
      if (next) next += rounded;
      return piece;
    };
    d_v = static_cast<int>(round_up(problem.head_dim_v, kColumnBlock));
    q = take(size_t{kBlockM} * problem.head_dim);
    keys = take(size_t{kBlockN} * problem.head_dim);
    row = take(problem.head_dim);
    values = take(size_t{kBlockN} * d_v);
    scores = take(size_t{kBlockM} * kBlockN);
    out = take(size_t{kBlockM} * d_v);
    max = take(kBlockM);
    sum = take(kBlockM);
    visible = reinterpret_cast<uint64_t*>(take(size_t{kBlockM} * 2));
  }

  int d_v;            // padded row length of values and out
  float* q;           // [kBlockM, D]
  float* keys;        // [D, kBlockN]
  float* row;         // [D], one row of K on its way into `keys`
  float* values;      // [kBlockN, d_v]
  float* scores;      // [kBlockM, kBlockN], then P
  float* out;         // [kBlockM, d_v]
  float* max;         // running maximum of each row
  float* sum;         // running sum of exp(score - max)
  uint64_t* visible;  // which of the tile's keys a row sees
  size_t total = 0;
};

// The score modifier, parsed once for all cells of a call's problem.
struct Modifier {
  explicit Modifier(const Problem& problem) {
    if (problem.score_modifier.empty()) return;
    expression = modifier::parse(problem.score_modifier, problem.modifier_tensors);
  }
  modifier::Expression expression;
};

std::array<modifier::TensorView, kMaxModifierTensors> modifier_tensors(
    const Problem& problem, const ForwardParams& params) {
  std::array<modifier::TensorView, kMaxModifierTensors> views;
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    const ModifierTensorParams& tensor = params.modifier_tensors[i];
    views[i].data = tensor.data;
    views[i].dtype = problem.modifier_tensors[i].dtype;
    std::copy_n(tensor.sizes, 4, views[i].sizes.begin());
    std::copy_n(tensor.strides, 4, views[i].strides.begin());
  }
  return views;
}

// One grid cell: a tile of query rows of one head against the keys it may see.
template <DType kDType>
class Cell {
 public:
  Cell(const Problem& problem, const Modifier& modifier, const ForwardParams& params, unsigned head,
       unsigned batch, void* scratch)
      : problem_(problem),
        params_(params),
        loops_(tile_loops()),
        s_(problem, scratch),
        head_(head),
        batch_(batch),
        modifier_tensors_(modifier_tensors(problem, params)),
        modify_(modifier.expression, modifier_tensors_) {
    head_kv_ = head_ / (params.heads_q / params.heads_kv);
    seqlen_q_ = params.seqlen_q;
    seqlen_k_ = params.seqlen_k;
    if (problem.layout == Layout::kVarlen) {
      q_begin_ = params.cu_seqlens_q[batch];
      k_begin_ = params.cu_seqlens_k[batch];
      seqlen_q_ = params.cu_seqlens_q[batch + 1] - q_begin_;
      seqlen_k_ = params.cu_seqlens_k[batch + 1] - k_begin_;
      in_batch_ = 0;  // packed: sequences follow one another, there is no batch dimension
    } else {
      in_batch_ = batch;
    }
    if (problem.seqlens_k) seqlen_k_ = params.seqlens_k[batch];
    if (problem.page_size) pages_ = params.block_table + batch * params.block_table_stride_batch;
    if (problem.dropout) {
      seed_ = params.philox_state ? params.philox_state[0] : params.philox_seed;
      offset_ = params.philox_state ? params.philox_state[1] : params.philox_offset;
    }
  }

  void run(int64_t tile) {
    first_row_ = tile * kBlockM;
    if (first_row_ >= seqlen_q_) return;  // varlen: the grid is made for the longest sequence
    rows_ = static_cast<int>(std::min<int64_t>(kBlockM, seqlen_q_ - first_row_));
    padded_rows_ = static_cast<int>(round_up(rows_, kRowBlock));
    load_q();
    std::fill_n(s_.out, size_t{kBlockM} * s_.d_v, 0.0f);
    // With sinks a row begins with its virtual key: weight 1 at the sink's score, value 0.
    const float sink = problem_.sinks ? params_.sinks[head_] : -kInfinity;
    std::fill_n(s_.max, kBlockM, sink);
    std::fill_n(s_.sum, kBlockM, sink == -kInfinity ? 0.0f : 1.0f);

    const int64_t begin = first_key(first_row_), end = end_key(first_row_ + rows_ - 1);
    for (int64_t key = begin; key < end; key += kBlockN) {
      const int keys = static_cast<int>(std::min<int64_t>(kBlockN, end - key));
      load_keys(key, keys);
      loops_.gemm(s_.q, problem_.head_dim, s_.keys, kBlockN, s_.scores, kBlockN, padded_rows_,
                  kBlockN, problem_.head_dim, false);
      for (int i = 0; i < rows_; ++i) {
        finish_scores(i, key);
        softmax_step(i, key);
      }
      accumulate(key, keys);
    }
    store();
  }

 private:
  // Tail-aligned: row r stands at key r + (Nk - Nq).
  int64_t first_key(int64_t row) const {
    return problem_.window_left
               ? std::max<int64_t>(0, row + seqlen_k_ - seqlen_q_ - params_.window_left)
               : 0;
  }
  int64_t end_key(int64_t row) const {
    if (!problem_.window_right) return seqlen_k_;
    return std::min<int64_t>(seqlen_k_, row + seqlen_k_ - seqlen_q_ + params_.window_right + 1);
  }

  void load_q() {
    const int64_t base = in_batch_ * params_.q_stride_batch + head_ * params_.q_stride_head;
    for (int i = 0; i < rows_; ++i) {
      load_row<kDType>(params_.q, base + (q_begin_ + first_row_ + i) * params_.q_stride_row,
                       problem_.head_dim, s_.q + size_t(i) * problem_.head_dim);
    }
    std::fill_n(s_.q + size_t(rows_) * problem_.head_dim,
                size_t(padded_rows_ - rows_) * problem_.head_dim, 0.0f);
  }

  // Where a key's row of K or V starts, head apart.
  int64_t key_offset(int64_t key, int64_t stride_batch, int64_t stride_row) const {
    if (!pages_) return in_batch_ * stride_batch + (k_begin_ + key) * stride_row;
    return pages_[key / problem_.page_size] * stride_batch + key % problem_.page_size * stride_row;
  }

  void load_keys(int64_t key, int keys) {
    const int64_t base = head_kv_ * params_.k_stride_head;
    for (int j = 0; j < keys; ++j) {
      load_row<kDType>(params_.k,
                       base + key_offset(key + j, params_.k_stride_batch, params_.k_stride_row),
                       problem_.head_dim, s_.row);
      for (int d = 0; d < problem_.head_dim; ++d) s_.keys[size_t(d) * kBlockN + j] = s_.row[d];
    }
    if (keys == kBlockN) return;
    for (int d = 0; d < problem_.head_dim; ++d) {
      std::fill(s_.keys + size_t(d) * kBlockN + keys, s_.keys + size_t(d + 1) * kBlockN, 0.0f);
    }
  }

  // Scale, softcap, modifier, bias; then everything hidden becomes -inf, whatever it was.
  void finish_scores(int i, int64_t key) {
    float* score = s_.scores + size_t(i) * kBlockN;
    const int64_t row = first_row_ + i;
    uint64_t visible = low_bits(end_key(row) - key) & ~low_bits(first_key(row) - key);
    for (int j = 0; j < kBlockN; ++j) score[j] *= params_.softmax_scale;
    if (problem_.softcap) {
      for (int j = 0; j < kBlockN; ++j)
        score[j] = params_.softcap * std::tanh(score[j] / params_.softcap);
    }
    if (!problem_.score_modifier.empty()) {
      for (int j = 0; j < kBlockN; ++j) {
        if (!(visible >> j & 1)) continue;
        score[j] =
            modify_({score[j], int32_t(batch_), int32_t(head_), int32_t(row), int32_t(key + j),
                     int32_t(seqlen_q_), int32_t(seqlen_k_), params_.heads_q});
        if (score[j] == -kInfinity) visible &= ~(uint64_t{1} << j);
      }
    }
    if (problem_.has_bias) {
      const int64_t base = batch_ * params_.bias_stride_batch + head_ * params_.bias_stride_head +
                           row * params_.bias_stride_row + key * params_.bias_stride_key;
      for (int j = 0; j < kBlockN; ++j) {
        if (!(visible >> j & 1)) continue;
        const float bias = read_bias(base + j * params_.bias_stride_key);
        score[j] += bias;
        if (bias == -kInfinity) visible &= ~(uint64_t{1} << j);
      }
    }
    if (problem_.has_mask) {
      const unsigned char* mask = params_.mask + batch_ * params_.mask_stride_batch +
                                  head_ * params_.mask_stride_head + row * params_.mask_stride_row +
                                  key * params_.mask_stride_key;
      for (int j = 0; j < kBlockN; ++j) {
        if ((visible >> j & 1) && !mask[j * params_.mask_stride_key])
          visible &= ~(uint64_t{1} << j);
      }
    }
    if (visible != kAll) {
      for (int j = 0; j < kBlockN; ++j) score[j] = visible >> j & 1 ? score[j] : -kInfinity;
    }
    s_.visible[i] = visible;
  }

  float read_bias(int64_t offset) const {
    if (problem_.bias_dtype == DType::kFp32) return static_cast<const float*>(params_.bias)[offset];
    const uint16_t bits = static_cast<const uint16_t*>(params_.bias)[offset];
    return kDType == DType::kBf16 ? float_from_bf16(bits) : float_from_fp16(bits);
  }

  // Scores become P relative to the running maximum; what was summed before is brought to the new
  // maximum. The maximum is subtracted before log2(e) comes in: a bias of the lowest finite float
  // must not overflow.
  void softmax_step(int i, int64_t key) {
    float* score = s_.scores + size_t(i) * kBlockN;
    const float tile_max = row_max(score);
    if (tile_max == -kInfinity) {  // nothing here; -inf - -inf would be NaN
      std::fill_n(score, kBlockN, 0.0f);
      return;
    }
    const float max = s_.max[i] > tile_max ? s_.max[i] : tile_max;
    if (max != s_.max[i]) {
      const float factor = s_.max[i] == -kInfinity ? 0.0f : std::exp(s_.max[i] - max);
      s_.sum[i] *= factor;
      float* out = s_.out + size_t(i) * s_.d_v;
      for (int d = 0; d < s_.d_v; ++d) out[d] *= factor;
      s_.max[i] = max;
    }
    s_.sum[i] += loops_.exp_row(score, kBlockN, max);
    if (!problem_.dropout) return;
    const uint64_t element =
        offset_ +
        ((static_cast<uint64_t>(batch_) * params_.heads_q + head_) * params_.seqlen_q + first_row_ +
         i) *
            params_.seqlen_k +
        key;
    const uint64_t kept = kept_elements(seed_, element, params_.dropout_p);
    for (int j = 0; j < kBlockN; ++j) score[j] = kept >> j & 1 ? score[j] : 0.0f;
  }

  void accumulate(int64_t key, int keys) {
    const int64_t base = head_kv_ * params_.v_stride_head;
    bool finite = true;
    for (int j = 0; j < kBlockN; ++j) {
      float* value = s_.values + size_t(j) * s_.d_v;
      const int count = j < keys ? problem_.head_dim_v : 0;
      if (count)
        load_row<kDType>(params_.v,
                         base + key_offset(key + j, params_.v_stride_batch, params_.v_stride_row),
                         count, value);
      std::fill(value + count, value + s_.d_v, 0.0f);
      finite = all_finite(value, count) && finite;
    }
    if (finite) {
      loops_.gemm(s_.scores, kBlockN, s_.values, s_.d_v, s_.out, s_.d_v, padded_rows_, s_.d_v,
                  kBlockN, true);
      return;
    }
    // 0 x NaN is NaN: what is hidden must not even be multiplied.
    for (int i = 0; i < rows_; ++i) {
      float* out = s_.out + size_t(i) * s_.d_v;
      for (int j = 0; j < keys; ++j) {
        if (!(s_.visible[i] >> j & 1)) continue;
        const float p = s_.scores[size_t(i) * kBlockN + j];
        const float* value = s_.values + size_t(j) * s_.d_v;
        for (int d = 0; d < problem_.head_dim_v; ++d) out[d] += p * value[d];
      }
    }
  }

  void store() {
    const int64_t base = in_batch_ * params_.o_stride_batch + head_ * params_.o_stride_head;
    const float dropout_scale = problem_.dropout ? params_.dropout_scale : 1.0f;
    for (int i = 0; i < rows_; ++i) {
      const int64_t row = q_begin_ + first_row_ + i;
      const bool hidden = s_.sum[i] == 0.0f;
      store_row<kDType>(params_.o, base + row * params_.o_stride_row, problem_.head_dim_v,
                        s_.out + size_t(i) * s_.d_v, hidden ? 0.0f : dropout_scale / s_.sum[i]);
      if (params_.lse) {
        params_.lse[in_batch_ * params_.lse_stride_batch + head_ * params_.lse_stride_head + row] =
            hidden ? -kInfinity : s_.max[i] + std::log(s_.sum[i]);
      }
    }
  }

  const Problem& problem_;
  const ForwardParams& params_;
  const TileLoops& loops_;
  const Scratch s_;
  const int64_t head_, batch_;
  int64_t head_kv_, in_batch_;
  int64_t q_begin_ = 0, k_begin_ = 0;
  const int* pages_ = nullptr;  // of this sequence; null when K and V are not paged
  int64_t seqlen_q_, seqlen_k_;
  int64_t first_row_ = 0;
  int rows_ = 0, padded_rows_ = 0;
  uint64_t seed_ = 0, offset_ = 0;
  const std::array<modifier::TensorView, kMaxModifierTensors> modifier_tensors_;
  modifier::Evaluator<float> modify_;
};

template <DType kDType>
Kernel kernel_for(const Problem& problem) {
  return [problem, modifier = Modifier(problem)](const void* raw, unsigned x, unsigned y,
                                                 unsigned z, void* scratch) {
    const auto& params = *static_cast<const ForwardParams*>(raw);
    const int64_t tiles = (int64_t{params.seqlen_q} + kBlockM - 1) / kBlockM;
    // Causal: the last rows see the most keys; begun first, they do not end last.
    const int64_t tile = problem.window_right ? tiles - 1 - x : x;
    Cell<kDType>(problem, modifier, params, y, z, scratch).run(tile);
  };
}

}  // namespace

Kernel attention_kernel(const Problem& problem) {
  switch (problem.dtype) {
    case DType::kFp32:
      return kernel_for<DType::kFp32>(problem);
    case DType::kFp16:
      return kernel_for<DType::kFp16>(problem);
    case DType::kBf16:
      return kernel_for<DType::kBf16>(problem);
    default:
      throw_error(FFPA_JIT_UNSUPPORTED,
                  "the portable kernel was asked for {}; allowed: fp32, fp16, bf16",
                  name_of(problem.dtype));
  }
}

size_t scratch_bytes(const Problem& problem) {
  return Scratch(problem, nullptr).total * sizeof(float);
}

}  // namespace ffpa_jit::portable
