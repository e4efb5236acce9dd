// The judge. A large problem is judged by rows: each sampled row becomes a problem of one query of
// its own, on the same K and V, with what it may see written out as a mask.
#include "ffpa-jit/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "problem/modifier/parse.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"

namespace ffpa_jit::cli {
namespace {

using reference::AttentionResult;

constexpr double kWholeProblemFlops = 2e9;  // about a second of the fp64 reference
constexpr int kSampledRows = 192;
// Expected outputs come from other programs, in arithmetic of their own: they may err as much as we
// may, and then some.
constexpr double kExpectedSlack = 4;

struct Row {
  int64_t batch = 0, head = 0, query = 0;  // query within its sequence
  auto operator<=>(const Row&) const = default;
};

// Sizes and the places of [batch, head, row] in the tensors, whatever the layout.
class Rows {
 public:
  explicit Rows(const ffpa_jit_attention_args& args) : args_(args) {
    if (args.layout == FFPA_JIT_VARLEN) {
      heads = args.q.sizes[1];
      kv_heads = args.k.sizes[1];
      batch = args.cu_seqlens_q.sizes[0] - 1;
    } else {
      const int head_axis = args.layout == FFPA_JIT_BHND ? 1 : 2;
      batch = args.q.sizes[0];
      heads = args.q.sizes[head_axis];
      kv_heads = args.k.sizes[head_axis];
    }
  }
  int64_t batch = 0, heads = 0, kv_heads = 0;

  int64_t queries(int64_t b) const { return length(args_.q, args_.cu_seqlens_q, b); }
  int64_t keys(int64_t b) const {
    if (args_.seqlens_k.data) return static_cast<const int32_t*>(args_.seqlens_k.data)[b];
    return length(args_.k, args_.cu_seqlens_k, b);
  }
  // The most keys that a sequence can have: masks and dropout count so far.
  int64_t key_bound() const {
    if (args_.layout == FFPA_JIT_VARLEN) return args_.max_seqlen_k;
    const int64_t rows = args_.k.sizes[args_.layout == FFPA_JIT_BHND ? 2 : 1];
    return args_.block_table.data ? rows * args_.block_table.sizes[1] : rows;
  }
  int64_t total() const {
    int64_t rows = 0;
    for (int64_t b = 0; b < batch; ++b) rows += heads * queries(b);
    return rows;
  }
  double flops() const {
    double pairs = 0;
    for (int64_t b = 0; b < batch; ++b) pairs += static_cast<double>(heads) * queries(b) * keys(b);
    const int last = args_.q.rank - 1;
    return 2 * pairs * static_cast<double>(args_.q.sizes[last] + args_.v.sizes[last]);
  }

  // The row's vector in Q or O; the first key's vector in K or V.
  int64_t offset(const ffpa_jit_tensor& t, const ffpa_jit_tensor& offsets, int64_t b, int64_t h,
                 int64_t n) const {
    if (args_.layout == FFPA_JIT_VARLEN) {
      return (static_cast<const int32_t*>(offsets.data)[b] + n) * t.strides[0] + h * t.strides[1];
    }
    const int head = args_.layout == FFPA_JIT_BHND ? 1 : 2, row = 3 - head;
    return b * t.strides[0] + h * t.strides[head] + n * t.strides[row];
  }
  int64_t row_stride(const ffpa_jit_tensor& t) const {
    return t.strides[args_.layout == FFPA_JIT_VARLEN ? 0 : args_.layout == FFPA_JIT_BHND ? 2 : 1];
  }
  int64_t lse_offset(const Row& row) const {
    const ffpa_jit_tensor& t = args_.lse;
    if (args_.layout == FFPA_JIT_VARLEN) {
      return row.head * t.strides[0] +
             static_cast<const int32_t*>(args_.cu_seqlens_q.data)[row.batch] + row.query;
    }
    return row.batch * t.strides[0] + row.head * t.strides[1] + row.query * t.strides[2];
  }

 private:
  int64_t length(const ffpa_jit_tensor& t, const ffpa_jit_tensor& offsets, int64_t b) const {
    if (args_.layout != FFPA_JIT_VARLEN) return t.sizes[args_.layout == FFPA_JIT_BHND ? 2 : 1];
    const auto* at = static_cast<const int32_t*>(offsets.data);
    return at[b + 1] - at[b];
  }
  const ffpa_jit_attention_args& args_;
};

void* element_at(const ffpa_jit_tensor& t, int64_t offset) {
  return static_cast<std::byte*>(t.data) +
         offset * static_cast<int64_t>(bytes_of(static_cast<DType>(t.dtype)));
}

// The offset of [batch, head, query, first key] in a broadcast mask or bias of rank 2 to 4, and its
// key stride.
std::pair<int64_t, int64_t> mask_row(const ffpa_jit_tensor& t, const Row& row) {
  const int64_t index[3] = {row.batch, row.head, row.query};
  const int axes[3] = {t.rank >= 3 ? 0 : -1, t.rank == 4 ? 1 : -1, t.rank - 2};
  int64_t offset = 0;
  for (int i = 0; i < 3; ++i) {
    if (axes[i] >= 0 && t.sizes[axes[i]] > 1) offset += index[i] * t.strides[axes[i]];
  }
  return {offset, t.sizes[t.rank - 1] > 1 ? t.strides[t.rank - 1] : 0};
}

// One query row as a problem of its own.
class RowProblem {
 public:
  RowProblem(const ffpa_jit_attention_args& args, const Rows& rows, const Row& row) {
    const int64_t keys = rows.keys(row.batch);
    const int64_t kv_head = row.head / (rows.heads / rows.kv_heads);
    const int last = args.q.rank - 1;
    const auto view = [&](const ffpa_jit_tensor& t, const ffpa_jit_tensor& offsets, int64_t h,
                          int64_t n, int64_t length) {
      const int64_t stride = rows.row_stride(t);
      return ffpa::tensor(element_at(t, rows.offset(t, offsets, row.batch, h, n)),
                          static_cast<ffpa_jit_dtype>(t.dtype), {1, 1, length, t.sizes[last]},
                          {0, 0, stride, 1});
    };
    args_ = ffpa::Attention();
    args_.q = view(args.q, args.cu_seqlens_q, row.head, row.query, 1);
    if (args.block_table.data) {
      args_.k = gathered(args, args.k, row.batch, kv_head, keys, page_memory_[0]);
      args_.v = gathered(args, args.v, row.batch, kv_head, keys, page_memory_[1]);
    } else {
      args_.k = view(args.k, args.cu_seqlens_k, kv_head, 0, keys);
      args_.v = view(args.v, args.cu_seqlens_k, kv_head, 0, keys);
    }
    if (args.sinks.rank != 0) {
      args_.sinks =
          ffpa::tensor(static_cast<float*>(args.sinks.data) + row.head, FFPA_JIT_FP32, {1});
    }
    if (args.score_modifier) {
      modifier_ = modifier_of_row(args, rows, row);
      args_.score_modifier = modifier_.c_str();
      std::copy_n(args.modifier_tensors, FFPA_JIT_MAX_MODIFIER_TENSORS, args_.modifier_tensors);
    }
    args_.o = args_.q;
    args_.o.sizes[3] = args.o.sizes[last];
    args_.softcap = args.softcap;
    args_.has_softmax_scale = args.has_softmax_scale;
    args_.softmax_scale = args.softmax_scale;
    args_.dropout_p = args.dropout_p;
    args_.philox_seed = args.philox_seed;
    const bool varlen = args.layout == FFPA_JIT_VARLEN;
    const uint64_t max_q = varlen ? args.max_seqlen_q : rows.queries(row.batch);
    const uint64_t max_k = rows.key_bound();
    args_.philox_offset =
        args.philox_offset + ((row.batch * rows.heads + row.head) * max_q + row.query) * max_k;

    visible_.assign(static_cast<size_t>(keys), 1);
    const int64_t position = row.query + keys - rows.queries(row.batch);
    const int64_t right = args.is_causal ? 0 : args.window_right;
    for (int64_t key = 0; key < keys; ++key) {
      const bool hidden = (right >= 0 && key > position + right) ||
                          (args.window_left >= 0 && key < position - args.window_left);
      if (hidden) visible_[key] = 0;
    }
    if (args.mask.rank != 0) {
      const auto [offset, stride] = mask_row(args.mask, row);
      const auto* mask = static_cast<const unsigned char*>(args.mask.data) + offset;
      for (int64_t key = 0; key < keys; ++key) visible_[key] = visible_[key] && mask[key * stride];
    }
    args_.mask = ffpa::tensor(visible_.data(), FFPA_JIT_BOOL, {1, 1, 1, keys});
    if (args.bias.rank != 0) {
      const auto [offset, stride] = mask_row(args.bias, row);
      args_.bias =
          ffpa::tensor(element_at(args.bias, offset), static_cast<ffpa_jit_dtype>(args.bias.dtype),
                       {1, 1, 1, stride ? keys : 1}, {0, 0, 0, stride ? stride : 1});
    }
  }
  RowProblem(const RowProblem&) = delete;
  RowProblem& operator=(const RowProblem&) = delete;

  const ffpa::Attention& args() const { return args_; }

 private:
  // The row's place in the whole problem, written into the expression.
  static std::string modifier_of_row(const ffpa_jit_attention_args& args, const Rows& rows,
                                     const Row& row) {
    ModifierTensors types{};
    for (int i = 0; i < kMaxModifierTensors; ++i) {
      const ffpa_jit_tensor& t = args.modifier_tensors[i];
      types[i] = {static_cast<DType>(t.dtype), t.rank};
    }
    modifier::Expression expression = modifier::parse(args.score_modifier, types);
    for (modifier::Node& node : expression.nodes) {
      const auto become = [&](int64_t number) {
        node.op = modifier::Op::kInteger;
        node.integer = static_cast<int32_t>(number);
      };
      switch (node.op) {
        case modifier::Op::kBatch:
          become(row.batch);
          break;
        case modifier::Op::kHead:
          become(row.head);
          break;
        case modifier::Op::kQuery:
          become(row.query);
          break;
        case modifier::Op::kSeqlenQ:
          become(rows.queries(row.batch));
          break;
        case modifier::Op::kHeads:
          become(rows.heads);
          break;
        default:
          break;
      }
    }
    return text_of(expression);
  }

  // A sequence's rows of K or V from their pages.
  static ffpa_jit_tensor gathered(const ffpa_jit_attention_args& args, const ffpa_jit_tensor& t,
                                  int64_t batch, int64_t head, int64_t keys,
                                  std::vector<std::byte>& memory) {
    const int head_axis = args.layout == FFPA_JIT_BHND ? 1 : 2, row_axis = 3 - head_axis;
    const int64_t page_size = t.sizes[row_axis], dim = t.sizes[3];
    const auto bytes = static_cast<int64_t>(bytes_of(static_cast<DType>(t.dtype)));
    const auto* table = static_cast<const int32_t*>(args.block_table.data);
    memory.resize(static_cast<size_t>(keys * dim * bytes) + 1);
    for (int64_t key = 0; key < keys; ++key) {
      const int64_t page = table[batch * args.block_table.strides[0] + key / page_size];
      const int64_t offset =
          page * t.strides[0] + head * t.strides[head_axis] + key % page_size * t.strides[row_axis];
      std::memcpy(memory.data() + key * dim * bytes, element_at(t, offset),
                  static_cast<size_t>(dim * bytes));
    }
    return ffpa::tensor(memory.data(), static_cast<ffpa_jit_dtype>(t.dtype), {1, 1, keys, dim});
  }

  ffpa::Attention args_;
  std::vector<unsigned char> visible_;
  std::vector<std::byte> page_memory_[2];
  std::string modifier_;
};

// The first and last row of every corner, and random ones between.
std::set<Row> sample(const Rows& rows, uint64_t seed) {
  std::set<Row> chosen;
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (const int64_t b : {int64_t{0}, rows.batch - 1}) {
    for (const int64_t h : {int64_t{0}, rows.heads - 1}) {
      if (rows.queries(b) == 0) continue;
      chosen.insert({b, h, 0});
      chosen.insert({b, h, rows.queries(b) - 1});
    }
  }
  for (int i = 0; i < kSampledRows; ++i) {
    const int64_t b = below(rows.batch);
    if (rows.queries(b) > 0) chosen.insert({b, below(rows.heads), below(rows.queries(b))});
  }
  return chosen;
}

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

struct Judged {
  AttentionResult ours, exact, plain;
  int64_t rows = 0;
};

Judged judge_rows(const ffpa_jit_attention_args& args, const Rows& rows, uint64_t seed) {
  Judged judged;
  for (const Row& row : sample(rows, seed)) {
    const RowProblem one(args, rows, row);
    const AttentionResult exact = reference::attention_reference(one.args());
    const AttentionResult plain = reference::plain_attention(one.args());
    append(judged.exact.o, exact.o);
    append(judged.plain.o, plain.o);
    const int64_t offset = rows.offset(args.o, args.cu_seqlens_q, row.batch, row.head, row.query);
    for (size_t d = 0; d < exact.o.size(); ++d) {
      judged.ours.o.push_back(
          reference::read_element(args.o.data, args.o.dtype, offset + static_cast<int64_t>(d)));
    }
    if (args.lse.rank != 0) {
      append(judged.exact.lse, exact.lse);
      append(judged.plain.lse, plain.lse);
      judged.ours.lse.push_back(
          reference::read_element(args.lse.data, args.lse.dtype, rows.lse_offset(row)));
    }
    ++judged.rows;
  }
  return judged;
}

std::vector<double> values_of(const io::HostTensor& tensor) {
  const ffpa_jit_dtype dtype = tensor.element == io::Element::kFp32   ? FFPA_JIT_FP32
                               : tensor.element == io::Element::kFp16 ? FFPA_JIT_FP16
                                                                      : FFPA_JIT_BF16;
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = reference::read_element(tensor.bytes.data(), dtype, static_cast<int64_t>(i));
  }
  return values;
}

DType coarser(DType a, const io::HostTensor& expected) {
  const DType b = expected.element == io::Element::kFp32   ? DType::kFp32
                  : expected.element == io::Element::kFp16 ? DType::kFp16
                                                           : DType::kBf16;
  const auto rank = [](DType t) { return t == DType::kBf16 ? 2 : t == DType::kFp16 ? 1 : 0; };
  return rank(a) >= rank(b) ? a : b;
}

void check_expected(const HostProblem& problem, Check& out) {
  const ffpa_jit_attention_args& args = problem.args;
  std::vector<double> ours(static_cast<size_t>(elements_of(args.o)));
  for (size_t i = 0; i < ours.size(); ++i) {  // O is packed, in the order of the file
    ours[i] = reference::read_element(args.o.data, args.o.dtype, static_cast<int64_t>(i));
  }
  const DType dtype = coarser(static_cast<DType>(args.o.dtype), *problem.expected);
  out.expected_error = reference::relative_error(ours, values_of(*problem.expected));
  out.expected_tolerance =
      kExpectedSlack *
      std::max(out.tolerance, reference::error_bar(0, dtype, static_cast<size_t>(out.rows)));
  out.ok = out.ok && *out.expected_error <= out.expected_tolerance;
}

}  // namespace

Check check(const HostProblem& problem, CheckRows which, uint64_t seed) {
  const ffpa_jit_attention_args& args = problem.args;
  const Rows rows(args);
  Judged judged;
  if (which == CheckRows::kAll || rows.flops() <= kWholeProblemFlops) {
    judged = {reference::read_result(args), reference::attention_reference(args),
              reference::plain_attention(args), rows.total()};
  } else {
    judged = judge_rows(args, rows, seed);
  }
  Check out;
  out.rows = rows.total();
  out.checked_rows = judged.rows;
  out.rel_error = reference::relative_error(judged.ours.o, judged.exact.o);
  out.plain_error = reference::relative_error(judged.plain.o, judged.exact.o);
  out.tolerance = reference::error_bar(out.plain_error, static_cast<DType>(args.q.dtype),
                                       static_cast<size_t>(judged.rows));
  out.ok = out.rel_error <= out.tolerance;
  if (args.lse.rank != 0) {
    out.lse_error = reference::max_error(judged.ours.lse, judged.exact.lse);
    out.lse_tolerance =
        reference::lse_error_bar(reference::max_error(judged.plain.lse, judged.exact.lse));
    out.ok = out.ok && *out.lse_error <= out.lse_tolerance;
  }
  if (problem.expected) check_expected(problem, out);
  return out;
}

}  // namespace ffpa_jit::cli
