// How the tiles of a launch of cuda/wgmma_rows.cu.j2 are dealt out: the same arithmetic for the host, which sizes the grid and the
// workspace, and for the kernel. Plain C++ without includes; the including side defines FFPA_DEVICE.

struct RowsWork {
  int whole;   // the first so many tiles are computed by one block each
  int shared;  // of each tile that follows, the keys are shared out
  int parts;   // to so many

  FFPA_DEVICE int items() const { return whole + shared * parts; }
};

// What is left after whole waves of blocks keeps few multiprocessors busy: its tiles are cut along the keys, where pieces stay
// long enough to be worth putting together again. `kv_tiles` of the longest tile.
FFPA_DEVICE RowsWork rows_work(int tiles, int kv_tiles, int multiprocessors, int most_parts) {
  // Tiles of keys of a part: beside whole waves, where blocks have been busy and merging shows, and alone.
  const int least_of_part = tiles > multiprocessors ? 16 : 6;
  const int left = tiles % multiprocessors;
  int parts = left > 0 ? multiprocessors / left : 1;
  if (parts > most_parts) parts = most_parts;
  if (parts > kv_tiles / least_of_part) parts = kv_tiles / least_of_part;
  if (parts < 2) return {tiles, 0, 1};
  return {tiles - left, left, parts};
}

// Tiles that differ in length: so many for each multiprocessor are dealt out ahead, more as blocks come to need them.
FFPA_DEVICE bool rows_are_dealt(int items, int multiprocessors) { return items <= 4 * multiprocessors; }

// Bytes of the workspace: a counter; a word for each warp of each part; each part's O and softmax.
constexpr int kRowsCounterBytes = 16;

FFPA_DEVICE long long rows_words_bytes(const RowsWork& work, int consumers) {
  return 8ll * work.shared * work.parts * consumers * 4;
}
FFPA_DEVICE long long rows_part_floats(int head_dim_v) { return 128ll * (head_dim_v / 2 + 6); }  // of a consumer
