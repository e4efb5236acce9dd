// A mask or a bias of cuda/wgmma_rows.cu.j2 in global memory.

template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry and head
  long long stride_row, stride_key;
  bool paired;  // pairs of an even number of keys lie together and aligned in every row
  bool wide;    // so do 16 bytes

  FFPA_DEVICE const Value* at(int query, int key) const { return row0 + query * stride_row + key * stride_key; }
};

template <typename Value>
FFPA_DEVICE Mask<Value> mask_at(const void* tensor, const Tile& tile, long long stride_batch, long long stride_head,
                                long long stride_row, long long stride_key) {
  const Value* row0 = (const Value*)tensor + tile.batch * stride_batch + tile.head * stride_head;
  const bool paired = stride_key == 1 && ((tile.seqlen_k | stride_row) & 1) == 0 &&
                      (unsigned long long)row0 % (2 * sizeof(Value)) == 0;
  const bool wide = paired && stride_row * (long long)sizeof(Value) % 16 == 0 && (unsigned long long)row0 % 16 == 0;
  return {row0, stride_row, stride_key, paired, wide};
}
