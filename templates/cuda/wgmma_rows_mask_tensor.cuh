// A mask or a bias of cuda/wgmma_rows.cu.j2 in global memory.

template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry and head
  long long stride_batch, stride_head, stride_row, stride_key;

  FFPA_DEVICE const Value* at(int query, int key) const { return row0 + query * stride_row + key * stride_key; }
};

template <typename Value>
FFPA_DEVICE Mask<Value> mask_at(const void* tensor, const Tile& tile, long long stride_batch, long long stride_head,
                                long long stride_row, long long stride_key) {
  return {(const Value*)tensor + tile.batch * stride_batch + tile.head * stride_head, stride_batch, stride_head, stride_row, stride_key};
}
//% if mask

FFPA_DEVICE Mask<unsigned char> boolean_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<unsigned char>(params.mask, tile, params.mask_stride_batch, params.mask_stride_head,
                                params.mask_stride_row, params.mask_stride_key);
}
//% endif
//% if bias

FFPA_DEVICE Mask<BiasElement> additive_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<BiasElement>(params.bias, tile, params.bias_stride_batch, params.bias_stride_head,
                              params.bias_stride_row, params.bias_stride_key);
}
//% endif
