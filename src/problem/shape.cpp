// Shape: the sizes of one call, checked against its Problem.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "problem/problem.h"

namespace ffpa_jit {
namespace {

// Sizes and cu_seqlens are int32 in ForwardParams; only products of them need 64 bits.
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

// Four sizes of at most 2^31 each: no overflow in 128 bits.
void check_product(std::string_view what, std::initializer_list<int64_t> factors) {
  unsigned __int128 product = 1;
  for (int64_t factor : factors) product *= static_cast<unsigned __int128>(factor);
  if (product <= static_cast<unsigned __int128>(std::numeric_limits<int64_t>::max())) return;
  std::string asked;
  for (int64_t factor : factors) {
    asked += (asked.empty() ? "" : " * ") + std::to_string(factor);
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; allowed: less than 2^63", what, asked);
}

}  // namespace

void validate(const Problem& p, const Shape& s) {
  validate(p);
  const bool varlen = p.layout == Layout::kVarlen;
  const struct {
    std::string_view name;
    int64_t value;
    int64_t max;
  } sizes[] = {
      {"batch", s.batch, kMaxSize},
      {"heads_q", s.heads_q, kMaxSize},
      {"heads_kv", s.heads_kv, kMaxSize},
      {"seqlen_q", s.seqlen_q, kMaxSize},
      {"seqlen_k", s.seqlen_k, kMaxSize},
      // Dense totals are batch * seqlen, checked below; packed tokens are counted by int32
      // cu_seqlens.
      {"total_q", s.total_q, varlen ? kMaxSize : std::numeric_limits<int64_t>::max()},
      {"total_k", s.total_k, varlen ? kMaxSize : std::numeric_limits<int64_t>::max()},
  };
  for (const auto& size : sizes) {
    if (size.value < 0 || size.value > size.max) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; allowed: 0 to {}", size.name, size.value,
                  size.max);
    }
  }
  if (s.heads_q != s.heads_kv * p.gqa_group) {
    throw_error(
        FFPA_JIT_INVALID_ARGUMENT,
        "heads_q is {} with heads_kv {} and gqa_group {}; allowed: heads_q = heads_kv * gqa_group",
        s.heads_q, s.heads_kv, p.gqa_group);
  }
  if (!varlen) {
    if (s.total_q != s.batch * s.seqlen_q) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "total_q is {}; allowed: batch * seqlen_q = {} (layout {})", s.total_q,
                  s.batch * s.seqlen_q, name_of(p.layout));
    }
    if (s.total_k != s.batch * s.seqlen_k) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "total_k is {}; allowed: batch * seqlen_k = {} (layout {})", s.total_k,
                  s.batch * s.seqlen_k, name_of(p.layout));
    }
    if (p.page_size != 0 && s.seqlen_k % p.page_size != 0) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "seqlen_k is {} with pages of {} keys; allowed: a multiple of the page size",
                  s.seqlen_k, p.page_size);
    }
    // No keys at all is the empty case (O = 0), not a misaligned causal call. Lengths that only the
    // device knows are not checked: rows that stand before the first key see none.
    if (p.causal && !p.seqlens_k && s.seqlen_k != 0 && s.seqlen_k < s.seqlen_q) {
      throw_error(
          FFPA_JIT_INVALID_ARGUMENT,
          "causal with seqlen_k {} and seqlen_q {}; allowed: seqlen_k >= seqlen_q (causal is "
          "aligned to the last key), or seqlen_k = 0; for other alignments give a mask",
          s.seqlen_k, s.seqlen_q);
    }
  }
  const int64_t dim = std::max(p.head_dim, p.head_dim_v);
  const auto bytes = static_cast<int64_t>(bytes_of(p.dtype));
  check_product("total_q * heads_q * head_dim * element size", {s.total_q, s.heads_q, dim, bytes});
  check_product("total_k * heads_kv * head_dim * element size",
                {s.total_k, s.heads_kv, dim, bytes});
  // Dropout counts elements of the score matrix, masks and biases are indexed by it.
  check_product("batch * heads_q * seqlen_q * seqlen_k",
                {s.batch, s.heads_q, s.seqlen_q, s.seqlen_k});
}

std::string text_of(const Shape& s) {
  std::string text = fmt::format("b={} hq={} hkv={} nq={} nk={}", s.batch, s.heads_q, s.heads_kv,
                                 s.seqlen_q, s.seqlen_k);
  if (s.total_q != s.batch * s.seqlen_q || s.total_k != s.batch * s.seqlen_k) {
    text += fmt::format(" tq={} tk={}", s.total_q, s.total_k);
  }
  return text;
}

}  // namespace ffpa_jit
