#include "reference/attention_reference.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <type_traits>

#include "base/error.h"
#include "base/float16.h"
#include "problem/modifier/evaluate.h"
#include "problem/modifier/parse.h"
#include "reference/philox.h"

namespace ffpa_jit::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Sizes {
  int64_t batch, heads_q, heads_kv, head_dim, head_dim_v;
  int64_t seqlen_q, seqlen_k;  // varlen: max_seqlen_q/k
  int64_t total_q;             // rows of O over the batch
};

struct Strides {
  int64_t batch, head, row, col;
};

bool is_varlen(const ffpa_jit_attention_args& args) { return args.layout == FFPA_JIT_VARLEN; }

bool is_paged(const ffpa_jit_attention_args& args) { return args.block_table.data != nullptr; }

Strides activation_strides(const ffpa_jit_tensor& t, int layout) {
  switch (layout) {
    case FFPA_JIT_BHND:
      return {t.strides[0], t.strides[1], t.strides[2], t.strides[3]};
    case FFPA_JIT_BNHD:
      return {t.strides[0], t.strides[2], t.strides[1], t.strides[3]};
    case FFPA_JIT_VARLEN:
      return {0, t.strides[1], t.strides[0], t.strides[2]};
    default:
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "layout is {}; allowed: BHND, BNHD, VARLEN", layout);
  }
}

// Rank 2 is [Nq, Nk], rank 3 [B, Nq, Nk], rank 4 [B, H, Nq, Nk]; a size of 1 repeats.
Strides broadcast_strides(const ffpa_jit_tensor& t) {
  const auto stride = [&](int dim) { return t.sizes[dim] == 1 ? 0 : t.strides[dim]; };
  switch (t.rank) {
    case 2:
      return {0, 0, stride(0), stride(1)};
    case 3:
      return {stride(0), 0, stride(1), stride(2)};
    default:
      return {stride(0), stride(1), stride(2), stride(3)};
  }
}

Sizes sizes_of(const ffpa_jit_attention_args& args) {
  const int64_t* q = args.q.sizes;
  const int64_t* k = args.k.sizes;
  if (is_varlen(args)) {
    return {args.cu_seqlens_q.sizes[0] - 1,
            q[1],
            k[1],
            q[2],
            args.v.sizes[2],
            args.max_seqlen_q,
            args.max_seqlen_k,
            q[0]};
  }
  const int head = args.layout == FFPA_JIT_BHND ? 1 : 2;
  const int row = args.layout == FFPA_JIT_BHND ? 2 : 1;
  const int64_t seqlen_k = is_paged(args) ? args.block_table.sizes[1] * k[row] : k[row];
  return {q[0], q[head], k[head], q[3], args.v.sizes[3], q[row], seqlen_k, q[0] * q[row]};
}

// One (batch, kv head): where its rows and keys lie.
struct Sequence {
  int64_t q_begin = 0, q_len, k_begin = 0, k_len;
};

Sequence sequence_of(const ffpa_jit_attention_args& args, const Sizes& sizes, int64_t batch) {
  if (!is_varlen(args)) {
    const auto* lengths = static_cast<const int32_t*>(args.seqlens_k.data);
    return {0, sizes.seqlen_q, 0, lengths ? lengths[batch] : sizes.seqlen_k};
  }
  const auto* cu_q = static_cast<const int32_t*>(args.cu_seqlens_q.data);
  const auto* cu_k = static_cast<const int32_t*>(args.cu_seqlens_k.data);
  return {cu_q[batch], cu_q[batch + 1] - cu_q[batch], cu_k[batch], cu_k[batch + 1] - cu_k[batch]};
}

// Where key `key` of a sequence starts in K or V, head apart.
int64_t key_offset(const ffpa_jit_attention_args& args, const Sequence& s, const Strides& strides,
                   int64_t batch, int64_t key) {
  if (!is_paged(args)) return batch * strides.batch + (s.k_begin + key) * strides.row;
  const int64_t page_size = args.k.sizes[args.layout == FFPA_JIT_BHND ? 2 : 1];
  const auto* table = static_cast<const int32_t*>(args.block_table.data);
  const int64_t page = table[batch * args.block_table.strides[0] + key / page_size];
  return page * strides.batch + key % page_size * strides.row;
}

struct Modifier {
  explicit Modifier(const ffpa_jit_attention_args& args) {
    if (!args.score_modifier || !*args.score_modifier) return;
    ModifierTensors types{};
    for (int i = 0; i < kMaxModifierTensors; ++i) {
      const ffpa_jit_tensor& t = args.modifier_tensors[i];
      if (t.rank == 0) continue;
      types[i] = {t.dtype == FFPA_JIT_INT32 ? DType::kInt32 : DType::kFp32, t.rank};
      tensors[i].data = t.data;
      tensors[i].dtype = types[i].dtype;
      std::copy_n(t.sizes, t.rank, tensors[i].sizes.begin());
      std::copy_n(t.strides, t.rank, tensors[i].strides.begin());
    }
    expression = modifier::parse(args.score_modifier, types);
  }

  modifier::Expression expression;  // without nodes: none
  std::array<modifier::TensorView, kMaxModifierTensors> tensors;
};

struct KeyRange {
  int64_t begin, end;
};

KeyRange visible_keys(const ffpa_jit_attention_args& args, const Sequence& s, int64_t row) {
  const int64_t position = row + (s.k_len - s.q_len);
  KeyRange range{0, s.k_len};
  if (args.window_left >= 0) range.begin = std::max(range.begin, position - args.window_left);
  if (args.window_right >= 0) range.end = std::min(range.end, position + args.window_right + 1);
  if (args.is_causal) range.end = std::min(range.end, position + 1);
  return range;
}

void parallel_for(int64_t count, bool worth_threads, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < count;) body(i);
  };
  std::vector<std::jthread> threads;
  if (worth_threads) {
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  }
  work();
}

double round_to(int32_t dtype, double value) {
  const float single = static_cast<float>(value);
  if (dtype == FFPA_JIT_FP16) return float_from_fp16(fp16_from_float(single));
  if (dtype == FFPA_JIT_BF16) return float_from_bf16(bf16_from_float(single));
  return single;
}

// Real = double: the reference. Real = float: the plain implementation in Q's dtype.
template <typename Real>
AttentionResult attention(const ffpa_jit_attention_args& args) {
  constexpr bool kPlain = std::is_same_v<Real, float>;
  const Sizes sizes = sizes_of(args);
  const int64_t group = sizes.heads_kv ? sizes.heads_q / sizes.heads_kv : 1;
  const int64_t d_qk = sizes.head_dim, d_v = sizes.head_dim_v;
  const Strides q_strides = activation_strides(args.q, args.layout);
  const Strides k_strides = activation_strides(args.k, args.layout);
  const Strides v_strides = activation_strides(args.v, args.layout);
  const Strides mask_strides = args.mask.data ? broadcast_strides(args.mask) : Strides{};
  const Strides bias_strides = args.bias.data ? broadcast_strides(args.bias) : Strides{};
  const Real scale = static_cast<Real>(args.has_softmax_scale ? args.softmax_scale
                                                              : 1.0 / std::sqrt(double(d_qk)));
  const Modifier modifier(args);
  const Real softcap = static_cast<Real>(args.softcap);
  const uint64_t seed = args.philox_state ? args.philox_state[0] : args.philox_seed;
  const uint64_t offset = args.philox_state ? args.philox_state[1] : args.philox_offset;
  const float dropout_p = static_cast<float>(args.dropout_p);
  const Real dropout_scale = static_cast<Real>(1.0 / (1.0 - args.dropout_p));

  AttentionResult result;
  result.o.assign(sizes.total_q * sizes.heads_q * d_v, 0.0);
  result.lse.assign(sizes.total_q * sizes.heads_q, -kInfinity);

  for (int64_t batch = 0; batch < sizes.batch; ++batch) {
    const Sequence seq = sequence_of(args, sizes, batch);
    for (int64_t head_kv = 0; head_kv < sizes.heads_kv; ++head_kv) {
      std::vector<Real> keys(
          d_qk * seq.k_len);  // transposed, [D, Nk]: the loop over keys is the inner one
      std::vector<Real> values(seq.k_len * d_v);
      for (int64_t key = 0; key < seq.k_len; ++key) {
        const int64_t k_begin =
            key_offset(args, seq, k_strides, batch, key) + head_kv * k_strides.head;
        const int64_t v_begin =
            key_offset(args, seq, v_strides, batch, key) + head_kv * v_strides.head;
        for (int64_t d = 0; d < d_qk; ++d) {
          keys[d * seq.k_len + key] = static_cast<Real>(
              read_element(args.k.data, args.k.dtype, k_begin + d * k_strides.col));
        }
        for (int64_t d = 0; d < d_v; ++d) {
          values[key * d_v + d] = static_cast<Real>(
              read_element(args.v.data, args.v.dtype, v_begin + d * v_strides.col));
        }
      }

      const bool worth_threads = group * seq.q_len * seq.k_len * (d_qk + d_v) > 1'000'000;
      parallel_for(group * seq.q_len, worth_threads, [&](int64_t index) {
        const int64_t head = head_kv * group + index / seq.q_len;
        const int64_t row = index % seq.q_len;
        const KeyRange range = visible_keys(args, seq, row);
        const int64_t count = std::max<int64_t>(0, range.end - range.begin);
        const Real sink = args.sinks.data
                              ? static_cast<Real>(read_element(args.sinks.data, args.sinks.dtype,
                                                               head * args.sinks.strides[0]))
                              : -std::numeric_limits<Real>::infinity();

        // S
        std::vector<Real> score(count, Real{0});
        for (int64_t d = 0; d < d_qk && count > 0; ++d) {
          const Real q = static_cast<Real>(
              read_element(args.q.data, args.q.dtype,
                           batch * q_strides.batch + head * q_strides.head +
                               (seq.q_begin + row) * q_strides.row + d * q_strides.col));
          const Real* k = &keys[d * seq.k_len + range.begin];
          for (int64_t i = 0; i < count; ++i) score[i] += q * k[i];
        }
        std::vector<char> visible(count, 1);
        Real max = sink;
        modifier::Evaluator<Real> modify(modifier.expression, modifier.tensors);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t key = range.begin + i;
          Real s = score[i] * scale;
          if (args.softcap != 0) s = softcap * std::tanh(s / softcap);
          if (!modifier.expression.nodes.empty()) {
            s = modify({s, int32_t(batch), int32_t(head), int32_t(row), int32_t(key),
                        int32_t(seq.q_len), int32_t(seq.k_len), int32_t(sizes.heads_q)});
            if (s == -std::numeric_limits<Real>::infinity()) visible[i] = 0;
          }
          if (args.bias.data) {
            const Real bias = static_cast<Real>(
                read_element(args.bias.data, args.bias.dtype,
                             batch * bias_strides.batch + head * bias_strides.head +
                                 row * bias_strides.row + key * bias_strides.col));
            if (bias == -std::numeric_limits<Real>::infinity()) visible[i] = 0;
            s += bias;
          }
          if (args.mask.data &&
              read_element(args.mask.data, args.mask.dtype,
                           batch * mask_strides.batch + head * mask_strides.head +
                               row * mask_strides.row + key * mask_strides.col) == 0) {
            visible[i] = 0;
          }
          score[i] = s;
          // Not std::max: a NaN among the visible scores must reach the output.
          if (visible[i] && !(s <= max)) max = s;
        }
        if (max == -std::numeric_limits<Real>::infinity()) return;

        // P
        Real sum = std::exp(sink - max);
        for (int64_t i = 0; i < count; ++i) {
          score[i] = visible[i] ? std::exp(score[i] - max) : Real{0};
          sum += score[i];
        }
        std::vector<Real> out(d_v, Real{0});
        for (int64_t i = 0; i < count; ++i) {
          if (!visible[i]) continue;
          const int64_t key = range.begin + i;
          Real p = score[i] / sum;
          if (args.dropout_p > 0) {
            const uint64_t element =
                offset +
                ((static_cast<uint64_t>(batch) * sizes.heads_q + head) * sizes.seqlen_q + row) *
                    sizes.seqlen_k +
                key;
            p = dropout_uniform(seed, element) > dropout_p ? p * dropout_scale : Real{0};
          }
          if (kPlain) p = static_cast<Real>(round_to(args.q.dtype, p));
          // P V
          const Real* v = &values[key * d_v];
          for (int64_t d = 0; d < d_v; ++d) out[d] += p * v[d];
        }

        const int64_t position = is_varlen(args)
                                     ? (seq.q_begin + row) * sizes.heads_q + head
                                     : (batch * sizes.heads_q + head) * sizes.seqlen_q + row;
        for (int64_t d = 0; d < d_v; ++d) {
          result.o[position * d_v + d] = kPlain ? round_to(args.q.dtype, out[d]) : double(out[d]);
        }
        const int64_t lse_position =
            is_varlen(args) ? head * sizes.total_q + seq.q_begin + row : position;
        result.lse[lse_position] = static_cast<Real>(max + std::log(sum));
      });
    }
  }
  return result;
}

}  // namespace

AttentionResult attention_reference(const ffpa_jit_attention_args& args) {
  return attention<double>(args);
}

AttentionResult plain_attention(const ffpa_jit_attention_args& args) {
  return attention<float>(args);
}

AttentionResult read_result(const ffpa_jit_attention_args& args) {
  const Sizes sizes = sizes_of(args);
  const int64_t d_v = sizes.head_dim_v;
  const Strides o = activation_strides(args.o, args.layout);
  AttentionResult result;
  result.o.reserve(sizes.total_q * sizes.heads_q * d_v);
  const auto read_row = [&](int64_t batch, int64_t head, int64_t row) {
    for (int64_t d = 0; d < d_v; ++d) {
      result.o.push_back(read_element(args.o.data, args.o.dtype,
                                      batch * o.batch + head * o.head + row * o.row + d * o.col));
    }
  };
  if (is_varlen(args)) {
    for (int64_t row = 0; row < sizes.total_q; ++row) {
      for (int64_t head = 0; head < sizes.heads_q; ++head) read_row(0, head, row);
    }
  } else {
    for (int64_t batch = 0; batch < sizes.batch; ++batch) {
      for (int64_t head = 0; head < sizes.heads_q; ++head) {
        for (int64_t row = 0; row < sizes.seqlen_q; ++row) read_row(batch, head, row);
      }
    }
  }
  if (!args.lse.data) return result;
  const int64_t* strides = args.lse.strides;
  const int64_t outer = is_varlen(args) ? 1 : sizes.batch;
  const int64_t rows = is_varlen(args) ? sizes.total_q : sizes.seqlen_q;
  const int rank_skip = is_varlen(args) ? 0 : 1;
  for (int64_t batch = 0; batch < outer; ++batch) {
    for (int64_t head = 0; head < sizes.heads_q; ++head) {
      for (int64_t row = 0; row < rows; ++row) {
        result.lse.push_back(read_element(args.lse.data, args.lse.dtype,
                                          batch * (rank_skip ? strides[0] : 0) +
                                              head * strides[rank_skip] +
                                              row * strides[rank_skip + 1]));
      }
    }
  }
  return result;
}

double read_element(const void* data, int32_t dtype, int64_t index) {
  switch (dtype) {
    case FFPA_JIT_FP32:
      return static_cast<const float*>(data)[index];
    case FFPA_JIT_FP16:
      return float_from_fp16(static_cast<const uint16_t*>(data)[index]);
    case FFPA_JIT_BF16:
      return float_from_bf16(static_cast<const uint16_t*>(data)[index]);
    case FFPA_JIT_BOOL:
      return static_cast<const uint8_t*>(data)[index] != 0;
    case FFPA_JIT_INT32:
      return static_cast<const int32_t*>(data)[index];
    default:
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "dtype is {}; allowed: the values of ffpa_jit_dtype",
                  dtype);
  }
}

void write_element(void* data, int32_t dtype, int64_t index, float value) {
  switch (dtype) {
    case FFPA_JIT_FP32:
      static_cast<float*>(data)[index] = value;
      return;
    case FFPA_JIT_FP16:
      static_cast<uint16_t*>(data)[index] = fp16_from_float(value);
      return;
    case FFPA_JIT_BF16:
      static_cast<uint16_t*>(data)[index] = bf16_from_float(value);
      return;
    default:
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "dtype is {}; allowed: FP32, FP16, BF16", dtype);
  }
}

}  // namespace ffpa_jit::reference
