// Host side of templates/cuda/lib/shuffle.cuh.
FFPA_DEVICE float shfl_bfly(float value, unsigned lane_mask) {
  return lockstep::exchange(value, (threadIdx.x % 32) ^ lane_mask);
}
FFPA_DEVICE float shfl_idx(float value, unsigned source) { return lockstep::exchange(value, source); }
FFPA_DEVICE float warp_max(float value) {
  for (unsigned lane_mask = 16; lane_mask > 0; lane_mask >>= 1) value = max_f32(value, shfl_bfly(value, lane_mask));
  return value;
}
FFPA_DEVICE float warp_sum(float value) {
  for (unsigned lane_mask = 16; lane_mask > 0; lane_mask >>= 1) value += shfl_bfly(value, lane_mask);
  return value;
}
