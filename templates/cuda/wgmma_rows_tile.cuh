// What one block of cuda/wgmma_rows.cu.j2 works on: query positions of kHeadsPacked heads that share a kv head. A consumer's 64
// rows are kPositions of each of them, head after head.

struct Tile {
  int parts;  // blocks that share the tile's keys; the first, to be read alone
  int batch;
  int head;  // the first
  int kv_head;
  int row_begin;  // position of the first row
  int rows;       // positions there are in all
  int seqlen_q, seqlen_k;
  long long q_row, k_row;    // varlen: packed row of the sequence's first token
  int kv_begin;              // key from which tiles of kBlockN keys are counted: what a row does not see is hidden
  int kv_first, kv_last;     // tiles of keys that are this block's: up to, not with, kv_last
  int part;                  // of them; not below `parts`: nothing is left for this one
  int shared_index;          // of the tile, among those with several
  int full_begin, full_end;  // keys that every row sees
};

FFPA_DEVICE KeyRange keys_of_row(const ForwardParams& params, const Tile& tile, int q) {
  return visible_keys<kWindowLeft, kWindowRight>(params, q, tile.seqlen_q, tile.seqlen_k);
}

constexpr int kPositions = 64 / kHeadsPacked;

FFPA_DEVICE int position_of(const Tile& tile, int row) {
  return tile.row_begin + (kHeadsPacked == 1 ? row : row / 64 * kPositions + row % kPositions);
}
FFPA_DEVICE int head_of(const Tile& tile, int row) { return kHeadsPacked == 1 ? tile.head : tile.head + row % 64 / kPositions; }
FFPA_DEVICE bool is_row(const Tile& tile, int row) { return position_of(tile, row) < tile.rows; }
// Rows past the end are computed as the last one, and never stored.
FFPA_DEVICE int query_of(const Tile& tile, int row) {
  const int position = position_of(tile, row);
  return position < tile.rows ? position : tile.rows - 1;
}

//% if window_right or masked
// Heads whose blocks are ordered together: their K and V are read at the same pace, and share L2.
constexpr unsigned kHeadsTogether = 2048 / (kHeadDim + kHeadDimV) > 0 ? 2048 / (kHeadDim + kHeadDimV) : 1;
//% endif

constexpr int kTilePositions = kConsumers * kPositions;

FFPA_DEVICE unsigned row_blocks(const ForwardParams& params) { return ((unsigned)params.seqlen_q + kTilePositions - 1) / kTilePositions; }

FFPA_DEVICE RowsWork work_of(const ForwardParams& params) {
  return rows_work((int)row_blocks(params) * (params.heads_q / kHeadsPacked) * params.batch, {{ "1" if varlen else "(params.seqlen_k + kBlockN - 1) / kBlockN" }}, {{ multiprocessors }}, {{ most_parts }});
}

//% if sorted
FFPA_DEVICE bool are_dealt(const RowsWork& work) { return rows_are_dealt(work.items(), {{ multiprocessors }}); }

//% endif
// Items run in the order of their index. Heads after each other, so that their K and V stay in L2. When causal, tiles
// of several heads together, those with most keys first: the last ones to run are short. With a mask too: heads may share it.
// Where tiles are dealt out, of all heads.
FFPA_DEVICE Tile tile_of(const ForwardParams& params, const RowsWork& work, unsigned index) {
  Tile tile;
//% if most_parts > 1
  const int past_whole = (int)index - work.whole;
  tile.parts = past_whole < 0 ? 1 : work.parts;
  tile.part = past_whole < 0 ? 0 : past_whole % work.parts;
  tile.shared_index = past_whole < 0 ? 0 : past_whole / work.parts;
  if (past_whole >= 0) index = work.whole + tile.shared_index;
//% else
  tile.parts = 1;
  tile.part = 0;
//% endif
  const unsigned heads = params.heads_q / kHeadsPacked;
  const unsigned blocks = row_blocks(params);
//% if window_right or masked
  const unsigned all = heads * params.batch;
  const unsigned most = {{ "are_dealt(work) ? all : kHeadsTogether" if sorted else "kHeadsTogether" }};
  const unsigned first_head = index / (blocks * most) * most;
  const unsigned together = all - first_head < most ? all - first_head : most;
  index -= first_head * blocks;
  tile.row_begin = (int)(blocks - 1 - index / together) * kTilePositions;
  index = first_head + index % together;
//% else
  tile.row_begin = (int)(index % blocks) * kTilePositions;
  index /= blocks;
//% endif
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
  tile.rows = tile.seqlen_q;
  const int last = (tile.row_begin + kTilePositions < tile.rows ? tile.row_begin + kTilePositions : tile.rows) - 1;
  const KeyRange of_first = keys_of_row(params, tile, tile.row_begin);
  const KeyRange of_last = keys_of_row(params, tile, last);
  tile.kv_begin = of_first.begin / 16 * 16;  // so that what is aligned of a mask stays so
  const int keys = of_last.end - tile.kv_begin;
  const int kv_tiles = keys > 0 ? (keys + kBlockN - 1) / kBlockN : 0;
  if (tile.parts > kv_tiles) tile.parts = kv_tiles > 0 ? kv_tiles : 1;
  tile.kv_first = kv_tiles * tile.part / tile.parts;
  tile.kv_last = kv_tiles * (tile.part + 1) / tile.parts;
  tile.full_begin = of_last.begin;
  tile.full_end = of_first.end;
  return tile;
}

FFPA_DEVICE bool is_empty(const Tile& tile) { return tile.row_begin >= tile.rows || tile.part >= tile.parts; }

FFPA_DEVICE int first_key(const Tile& tile, int j) { return tile.kv_begin + j * kBlockN; }

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
