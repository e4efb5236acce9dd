// Boxes of a tensor from global to shared memory by the tensor memory accelerator. PTX ISA, "Data Movement and
// Conversion Instructions: cp.async.bulk.tensor", "prefetch.tensormap"; sm_90 and later. The including template has
// included common/tensor_map.h.
//
// One thread issues; the coordinates are of the box's first element, innermost dimension first, and may be outside the
// tensor: what is outside is filled with zeros. The innermost one is a multiple of 16 bytes (an illegal instruction otherwise). `to` is aligned to 128 bytes (to 1024 under the 128-byte swizzle, so
// that the pattern begins there). The box's bytes, those of zeros too, are counted at the mbarrier.

// prefetch.tensormap: the map will be needed soon.
FFPA_DEVICE void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.shared::cluster.global.tile.mbarrier::complete_tx::bytes
FFPA_DEVICE void tma_load_1d(unsigned to, const TensorMap& map, unsigned barrier, int c0) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, { %3}], [%2];" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(c0)
               : "memory");
}
FFPA_DEVICE void tma_load_2d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, { %3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1)
      : "memory");
}
FFPA_DEVICE void tma_load_3d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, { %3, %4, %5}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
FFPA_DEVICE void tma_load_4d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, { %3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
FFPA_DEVICE void tma_load_5d(unsigned to, const TensorMap& map, unsigned barrier, int c0, int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, { %3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
