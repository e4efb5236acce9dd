// What one block of cuda/wgmma_columns.cu.j2 works on: kBlockQ query positions of kHeadsPacked heads that share a kv head,
// head after head.

struct Tile {
  bool nothing;  // no rows: of none of the cluster's blocks
  int batch;
  int head;     // the first
  int kv_head;
  int q_begin;  // position of the first row
  int seqlen_q, seqlen_k;
  long long q_row, k_row;    // varlen: packed row of the sequence's first token
  int kv_begin, kv_end;      // keys that some row of the cluster sees; kv_begin < kv_end: what a row does not see is hidden
//% if most_parts > 1
  int parts;         // blocks, or clusters, that share the tile's keys, of which these are a part
  int part;          // of them
  int shared_index;  // of the tile, among those with several
//% endif
};

constexpr int kPositions = kSplitRows ? kBlockQ * kCluster : kBlockQ;  // of a cluster

// Whether some row may not see some key of [kv, kv + kBlockN): windows move by a key from row to row.
FFPA_DEVICE bool is_partial(const Tile& tile, int kv) {
  const int full_end = tile.kv_end - (kWindowRight ? kPositions : 0);
  return kv + kBlockN > full_end{{ " || kv < tile.kv_begin + 16 + kPositions" if window_left }};
}

struct RowPlace {
  int head;
  int q;
};

// Rows past the end are read as the last position's, and never stored.
FFPA_DEVICE RowPlace place_of(const Tile& tile, int row) {
  const int q = tile.q_begin + row % kBlockQ;
  return {tile.head + row / kBlockQ, q < tile.seqlen_q ? q : tile.seqlen_q - 1};
}
FFPA_DEVICE bool is_row(const Tile& tile, int row) { return tile.q_begin + row % kBlockQ < tile.seqlen_q; }

FFPA_DEVICE KeyRange keys_of_row(const ForwardParams& params, const Tile& tile, int q) {
  return visible_keys<kWindowLeft, kWindowRight>(params, q, tile.seqlen_q, tile.seqlen_k);
}

//% if window_right or masked
// Heads whose blocks are ordered together: their K and V are read at the same pace, and share L2.
constexpr unsigned kHeadsTogether = 2048 / (kHeadDim + kHeadDimV) > 0 ? 2048 / (kHeadDim + kHeadDimV) : 1;
//% endif

//% if most_parts > 1
// The rule counts tiles of 80 keys.
FFPA_DEVICE RowsWork work_of(const ForwardParams& params) {
  const int tiles = (params.seqlen_q + kPositions - 1) / kPositions * (params.heads_q / kHeadsPacked) * params.batch;
  return rows_work(tiles, {{ "1" if varlen else "(params.seqlen_k + kBlockN - 1) / kBlockN * (kBlockN / 80)" }}, {{ multiprocessors }} / kCluster, {{ most_parts }});
}
//% endif

// Blocks run in the order of their index. Heads after each other, so that their K and V stay in L2. When causal, blocks
// of several heads together, those with most keys first: the last ones to run are short.
FFPA_DEVICE Tile tile_of(const ForwardParams& params, unsigned index) {
  Tile tile;
  const unsigned block = index % kCluster;
  index /= kCluster;
//% if most_parts > 1
  const RowsWork work = work_of(params);
  const int past_whole = (int)index - work.whole;
  tile.parts = past_whole < 0 ? 1 : work.parts;
  tile.part = past_whole < 0 ? 0 : past_whole % work.parts;
  tile.shared_index = past_whole < 0 ? 0 : past_whole / work.parts;
  if (past_whole >= 0) index = work.whole + tile.shared_index;
//% endif
  const unsigned heads = params.heads_q / kHeadsPacked;
  const unsigned rows = ((unsigned)params.seqlen_q + kPositions - 1) / kPositions;
//% if window_right or masked
  const unsigned all = heads * params.batch;
  const unsigned first_head = index / (rows * kHeadsTogether) * kHeadsTogether;
  const unsigned together = all - first_head < kHeadsTogether ? all - first_head : kHeadsTogether;
  index -= first_head * rows;
  const int first = (int)(rows - 1 - index / together) * kPositions;
  index = first_head + index % together;
//% else
  const int first = (int)(index % rows) * kPositions;
  index /= rows;
//% endif
  tile.q_begin = first + (kSplitRows ? (int)block * kBlockQ : 0);
  tile.head = (int)(index % heads) * kHeadsPacked;
  tile.batch = (int)(index / heads);
  tile.kv_head = tile.head / (params.heads_q / params.heads_kv);
//% if varlen
  tile.q_row = params.cu_seqlens_q[tile.batch];
  tile.k_row = params.cu_seqlens_k[tile.batch];
  tile.seqlen_q = (int)(params.cu_seqlens_q[tile.batch + 1] - tile.q_row);
  tile.seqlen_k = (int)(params.cu_seqlens_k[tile.batch + 1] - tile.k_row);
//% else
  tile.q_row = 0;
  tile.k_row = 0;
  tile.seqlen_q = params.seqlen_q;
  tile.seqlen_k = {{ "keys_of_sequence(params, tile.batch)" if seqlens_k else "params.seqlen_k" }};
//% endif
  tile.nothing = first >= tile.seqlen_q;
  const int last_of_cluster = (first + kPositions < tile.seqlen_q ? first + kPositions : tile.seqlen_q) - 1;
  tile.kv_begin = keys_of_row(params, tile, first).begin / 16 * 16;  // so that what is aligned of a mask stays so
  tile.kv_end = keys_of_row(params, tile, last_of_cluster).end;
  if (tile.kv_end <= tile.kv_begin) tile.kv_end = tile.kv_begin + 1;
//% if most_parts > 1
  const int kv_tiles = (tile.kv_end - tile.kv_begin + kBlockN - 1) / kBlockN;
  if (tile.parts > kv_tiles) tile.parts = kv_tiles;
  if (tile.part >= tile.parts) tile.nothing = true;
  const int end = tile.kv_begin + kv_tiles * (tile.part + 1) / tile.parts * kBlockN;
  tile.kv_begin += kv_tiles * tile.part / tile.parts * kBlockN;
  tile.kv_end = end < tile.kv_end ? end : tile.kv_end;
//% endif
  return tile;
}

// Where (head, row) of the tile's batch entry starts in a tensor with these strides.
FFPA_DEVICE long long offset_of(const Tile& tile, int head, long long row, long long stride_batch,
                                long long stride_head, long long stride_row) {
//% if varlen
  (void)stride_batch;  // `row` counts packed tokens
  return head * stride_head + row * stride_row;
//% else
  return tile.batch * stride_batch + head * stride_head + row * stride_row;
//% endif
}
