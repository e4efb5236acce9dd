// Tiles whose keys several blocks share: where each leaves what it has of O and of the softmax in the workspace, for the last one
// to put together. Warp by warp, since the rows of a warp are its own: nobody waits for anybody.
//
// The including template defines RowsWork and Tile with `shared_index` and `parts`; kTileWarpgroups, the warpgroups that have a part of
// a tile's results, tile_warpgroup(), which of them this thread is of, warp() and lane(); kOutColumns, the columns of O of a warpgroup.
//
// A warp's word says kDone from when its part is there until the parts are merged. It needs no initial value: that what was
// there before happens to be these 64 bits is not to be expected.

constexpr unsigned long long kDone = 0x5be1a2749d6c0f83ull;

struct PartPlace {
  unsigned long long* done;
  float* values;  // of the thread, one each 128
};

// Of this warp's rows, in part `part`.
FFPA_DEVICE PartPlace part_place(const ForwardParams& params, const RowsWork& work, const Tile& tile, int part) {
  const long long index = ((long long)tile.shared_index * work.parts + part) * kTileWarpgroups + tile_warpgroup();
  char* workspace = (char*)params.workspace + kRowsCounterBytes;
  return {(unsigned long long*)workspace + index * 4 + warp(),
          (float*)(workspace + rows_words_bytes(work, kTileWarpgroups)) + index * rows_part_floats(kOutColumns) + threadIdx.x % 128};
}

// Whether all parts are there. Of two that come at once at least one sees the other's word: fence.sc lies between its own word
// and the look at the others'. Both may see all; then both merge, and write the same.
FFPA_DEVICE bool is_last(const ForwardParams& params, const RowsWork& work, const Tile& tile, const PartPlace& own) {
  __syncwarp();
  if (lane() == 0) {
    fence_acq_rel_gpu();
    st_relaxed_gpu_u64(own.done, kDone);
    fence_sc_gpu();
  }
  __syncwarp();
  bool missing = false;
  if (lane() < tile.parts) missing = ld_relaxed_gpu_u64(part_place(params, work, tile, lane()).done) != kDone;
  const bool last = !vote_any(missing);
  fence_acq_rel_gpu();
  return last;
}
