// Dropout of cuda/wgmma_columns.cu.j2: which weights of a tile are kept, decided while no products run. Philox multiplies to 64 bits, and
// that and wgmma hold each other up (measured on an H200: a quarter of each one's speed is left beside the other's).

struct KeptMarks {
  unsigned carries;  // Dice::carries
  unsigned own[2];   // of 32 keys of each of the lane's rows: lane q of a quad has those of quarter q
//% if not window_right
  unsigned long long first[2];  // their elements of a tile at key 0; otherwise registers are few
//% endif

  static FFPA_DEVICE unsigned long long first_of(const ForwardParams& params, const Tile& tile, int h, int thread) {
    const RowPlace place = place_of(tile, row_of(h, thread));
    return dropout_row(params, philox_key(params), tile.batch, place.head, place.q) + (unsigned)(consumer(thread) * kKeys + lane(thread) % 4 * 32);
  }

  FFPA_DEVICE KeptMarks(const ForwardParams& params, {{ "[[maybe_unused]] " if window_right }}const Tile& tile) : carries(kept_carries(params)) {
//% if not window_right
    for (int h = 0; h < 2; ++h) first[h] = first_of(params, tile, h, this_thread());
//% endif
  }

  // Of the tile at key `kv`. By both warpgroups at a time, none of whose products run.
  FFPA_DEVICE void decide(const ForwardParams& params, int kv) {
    bar_sync(5, 256);
    const Dice dice = {philox_key(params), carries};
//% if window_right
    const int thread = thread_anew();
    const Tile tile = tile_of(params, ctaid_x());
//% endif
#pragma unroll 1
    for (int h = 0; h < 2; ++h) {
      own[0] = own[1];
      own[1] = kept_of_32<4>(dice, {{ "first_of(params, tile, h, thread)" if window_right else "(h == 0 ? first[0] : first[1])" }} + (unsigned)kv);
    }
  }

  // Of all lanes of a quad.
  FFPA_DEVICE KeptTiles of(int h, int quarter) const {
    const unsigned kept = __builtin_bit_cast(unsigned, shfl_idx(__builtin_bit_cast(float, own[h]), (unsigned)(lane() / 4 * 4 + quarter)));
    return kept_tiles(kept);
  }
};
