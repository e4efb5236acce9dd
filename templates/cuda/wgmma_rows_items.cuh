// Which items a block of cuda/wgmma_rows.cu.j2 works on, and how its warps learn of them.

//% if even or sorted
// Item `count` of a block where they are dealt out: one of every row of so many, and of rows from the longest tiles to the shortest
// alternately from both ends.
FFPA_DEVICE int dealt_item(unsigned count) {
//% if sorted
  return (int)(count * gridDim.x + (count % 2 != 0 ? gridDim.x - 1 - ctaid_x() : ctaid_x()));
//% else
  return (int)(count * gridDim.x + ctaid_x());
//% endif
}

//% endif
//% if not even
// Otherwise the first is the block's index, and where there are fewer blocks than items, a counter in the workspace gives the others.
FFPA_DEVICE int item_after(const ForwardParams& params) {
  if ((int)gridDim.x >= work_of(params).items()) return 0x7fffffff;
  return (int)(gridDim.x + atom_add_acq_rel_gpu_u32((unsigned*)params.workspace, 1));
}

//% endif
// What is behind the last item.
FFPA_DEVICE Tile no_tile() {
  Tile tile = {};
  tile.batch = -1;
  return tile;
}
FFPA_DEVICE bool is_none(const Tile& tile) { return tile.batch < 0; }

// One thread tells the others in shared memory: to divide an index up takes longer than to read what came of it.
constexpr int kTileWords = sizeof(Tile) / 4;
struct alignas(8) TileWords {
  unsigned word[kTileWords];
};
static_assert(sizeof(Tile) % 8 == 0 && sizeof(Tile) <= kItemBytes);

FFPA_DEVICE void await_room(unsigned smem, unsigned count) {
  const ItemPlace place(count);
  mbarrier_wait(item_empty(smem, place), place.parity ^ 1);
}

FFPA_DEVICE void announce(unsigned smem, unsigned count, const Tile& tile) {
  const ItemPlace place(count);
  const TileWords words = __builtin_bit_cast(TileWords, tile);
#pragma unroll
  for (int i = 0; i < kTileWords; ++i) st_shared_u32(item_words(smem, place) + 4 * i, words.word[i]);
  mbarrier_arrive(item_full(smem, place));
}

FFPA_DEVICE void await_item(unsigned smem, unsigned count) {
  const ItemPlace place(count);
  mbarrier_wait(item_full(smem, place), place.parity);
}

// After await_item(), before the warp arrives at item_empty.
FFPA_DEVICE Tile item_at(unsigned smem, unsigned count) {
  TileWords words;
#pragma unroll
  for (int i = 0; i < kTileWords; ++i) words.word[i] = ld_shared_u32(item_words(smem, ItemPlace(count)) + 4 * i);
  return __builtin_bit_cast(Tile, words);
}

// By all lanes of a warp: what is branched on known to be alike, without which addresses of operands are not kept once for the warp.
FFPA_DEVICE Tile uniform_item_at(unsigned smem, unsigned count) {
  Tile tile = item_at(smem, count);
  int* const words[] = {&tile.batch,    &tile.row_begin, &tile.rows,    &tile.parts,      &tile.part,
                        &tile.kv_begin, &tile.kv_first,  &tile.kv_last, &tile.full_begin, &tile.full_end};
#pragma unroll
  for (int i = 0; i < 10; ++i) *words[i] = (int)uniform((unsigned)*words[i]);
  return tile;
}

//% if most_parts > 1
FFPA_DEVICE int item_parts(unsigned smem, unsigned count) { return (int)ld_shared_u32(item_words(smem, ItemPlace(count))); }

//% endif
FFPA_DEVICE Tile next_tile(const ForwardParams& params, unsigned smem, unsigned count, [[maybe_unused]] int next) {
  await_room(smem, count);
  const RowsWork work = work_of(params);
//% if even
  const int item = dealt_item(count);
//% elif sorted
  const int item = are_dealt(work) ? dealt_item(count) : next;
//% else
  const int item = next;
//% endif
  const Tile tile = item < work.items() ? tile_of(params, work, (unsigned)item) : no_tile();
  announce(smem, count, tile);
  return tile;
}
//% if deals

// By a thread of its own, where there is one to spare. It asks for the next when nothing is left to load, not before: of tiles that
// differ in length, the last are then short.
FFPA_DEVICE void deal(const ForwardParams& params, unsigned smem) {
  int next = (int)ctaid_x();
#pragma unroll 1
  for (unsigned count = 0;; ++count) {
    if (is_none(next_tile(params, smem, count, next))) break;
//% if not even
    mbarrier_wait(items_loaded(smem), count & 1);
{{ "    if (!are_dealt(work_of(params))) next = item_after(params);" if sorted else "    next = item_after(params);" }}
//% endif
  }
}
//% endif
