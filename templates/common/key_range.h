// Which keys a query row may see: tail-aligned causal and sliding windows. Plain C++; the including template defines
// FFPA_DEVICE and has included params.h.

struct KeyRange {
  int begin;
  int end;  // begin >= end: none
};

// Row q stands at key position q + (seqlen_k - seqlen_q) and sees [position - left, position + right].
template <bool kWindowLeft, bool kWindowRight>
FFPA_DEVICE KeyRange visible_keys(const ForwardParams& params, int q, int seqlen_q, int seqlen_k) {
  const long long position = (long long)q + seqlen_k - seqlen_q;
  long long begin = 0;
  long long end = seqlen_k;
  if (kWindowLeft && position - params.window_left > begin) begin = position - params.window_left;
  if (kWindowRight && position + params.window_right + 1 < end) end = position + params.window_right + 1;
  if (end < 0) end = 0;
  if (begin > end) begin = end;
  return {(int)begin, (int)end};
}
