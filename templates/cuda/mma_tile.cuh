// What one block of cuda/mma_forward.cu.j2 works on: rows of one head, or, packed, of all query heads of one kv head,
// head after head.

struct Tile {
  int batch;
  int head;     // query head; packed: the first of the group
  int kv_head;
  int row_begin;  // first row of the tile
  int rows;       // rows there are in all
  int seqlen_q, seqlen_k;
  long long q_row, k_row;     // varlen: packed row of the sequence's first token
  int kv_begin, kv_end;       // keys that some row of the tile sees; packed: and that are this block's
  int full_begin, full_end;   // keys that every row of the tile sees
//% if packed
  unsigned part, parts;  // which of the blocks that share the tile's keys this one is
//% endif
};

// A row of the tile's head, or of its group of heads.
struct RowPlace {
  int head;
  int q;
};

constexpr int kGroup = {{ gqa_group }};  // query heads of a kv head
constexpr int kHeadsOfTile = {{ "kGroup" if packed else "1" }};

FFPA_DEVICE unsigned row_blocks(const ForwardParams& params) {
  return ((unsigned)params.seqlen_q * kHeadsOfTile + kBlockM - 1) / kBlockM;
}

//% if window_right or masked
// Heads whose blocks are ordered together: their K and V are read at the same pace, and share L2; a mask that heads
// share is read once for all of them.
constexpr unsigned kHeadsTogether = 4096 / (kHeadDim + kHeadDimV) > 0 ? 4096 / (kHeadDim + kHeadDimV) : 1;
//% endif

// Rows past the end are read as the last one, and never stored.
FFPA_DEVICE RowPlace place_of(const Tile& tile, int row) {
  if (row >= tile.rows) row = tile.rows - 1;
//% if packed
  if (tile.seqlen_q == 1) return {tile.head + row, 0};
  return {tile.head + row / tile.seqlen_q, row % tile.seqlen_q};
//% else
  return {tile.head, row};
//% endif
}

FFPA_DEVICE KeyRange keys_of_row(const ForwardParams& params, const Tile& tile, int q) {
  return visible_keys<kWindowLeft, kWindowRight>(params, q, tile.seqlen_q, tile.seqlen_k);
}

// Blocks run in the order of their index. Heads after each other, so that their K and V stay in L2. When causal, blocks
// of several heads together, those with most keys first: the last ones to run are short.
FFPA_DEVICE Tile tile_of(const ForwardParams& params, unsigned index) {
  Tile tile;
  const unsigned heads = {{ "params.heads_kv" if packed else "params.heads_q" }};
  const unsigned blocks = row_blocks(params);
//% if packed
  tile.part = blockIdx.y;
  tile.parts = gridDim.y;
//% endif
//% if window_right or masked
  const unsigned all = heads * params.batch;
  const unsigned first_head = index / (blocks * kHeadsTogether) * kHeadsTogether;
  const unsigned together = all - first_head < kHeadsTogether ? all - first_head : kHeadsTogether;
  index -= first_head * blocks;
  tile.row_begin = (int)(blocks - 1 - index / together) * kBlockM;
  index = first_head + index % together;
//% else
  tile.row_begin = 0;
  if (blocks > 1) {
    tile.row_begin = (int)(index % blocks) * kBlockM;
    index /= blocks;
  }
//% endif
  tile.batch = (int)(index / heads);
  tile.head = (int)(index - tile.batch * heads) * kHeadsOfTile;
  tile.kv_head = tile.head / kGroup;
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
  tile.rows = tile.seqlen_q * kHeadsOfTile;
//% if packed
  const int first = 0;
  const int last = tile.seqlen_q - 1;
//% else
  const int first = tile.row_begin;
  const int last = (first + kBlockM < tile.seqlen_q ? first + kBlockM : tile.seqlen_q) - 1;
//% endif
  const KeyRange of_first = keys_of_row(params, tile, first);
  const KeyRange of_last = keys_of_row(params, tile, last);
  tile.kv_begin = of_first.begin / 8 * 8;  // so that a lane's two keys stay aligned pairs
  tile.kv_end = of_last.end;
  tile.full_begin = of_last.begin;
  tile.full_end = of_first.end;
//% if packed
  // As even as 16 keys allow: every block reads as much.
  const unsigned sixteens = tile.kv_end > tile.kv_begin ? (unsigned)(tile.kv_end - tile.kv_begin + 15) / 16 : 0;
  const unsigned each = sixteens / tile.parts, over = sixteens % tile.parts;
  tile.kv_begin += (int)(each * tile.part + (tile.part < over ? tile.part : over)) * 16;
  const int end = tile.kv_begin + (int)(each + (tile.part < over)) * 16;
  if (end < tile.kv_end) tile.kv_end = end;
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
