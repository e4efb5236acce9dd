// Boxes of a tensor from global to shared memory, emulated. PTX ISA, "Data Movement and Conversion Instructions:
// cp.async.bulk.tensor", "prefetch.tensormap". Coordinates innermost dimension first.

FFPA_DEVICE void prefetch_tensor_map(const TensorMap&) {}

// cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.shared::cluster.global.tile.mbarrier::complete_tx::bytes
FFPA_DEVICE void tma_load_1d(unsigned to, const TensorMap& map, unsigned barrier, int c0) {
  ffpa_emu_tensor_load(to, {&map, 1, {c0}}, barrier, 0);
}
FFPA_DEVICE void tma_load_2d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1) {
  ffpa_emu_tensor_load(to, {&map, 2, {c0, c1}}, barrier, 0);
}
FFPA_DEVICE void tma_load_3d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1, int c2) {
  ffpa_emu_tensor_load(to, {&map, 3, {c0, c1, c2}}, barrier, 0);
}
FFPA_DEVICE void tma_load_4d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1, int c2, int c3) {
  ffpa_emu_tensor_load(to, {&map, 4, {c0, c1, c2, c3}}, barrier, 0);
}
FFPA_DEVICE void tma_load_5d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1, int c2, int c3, int c4) {
  ffpa_emu_tensor_load(to, {&map, 5, {c0, c1, c2, c3, c4}}, barrier, 0);
}
