// tma.cuh's loads into several blocks of a cluster at once: bit i of `blocks` stands for the block of rank i. Data land
// at the same offset of each block's shared memory, and are counted at the mbarrier at the same offset there. PTX ISA,
// "Data Movement and Conversion Instructions: cp.async.bulk.tensor"; sm_90 and later.

// cp.async.bulk.tensor.{4d,5d}.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
FFPA_DEVICE void tma_load_4d_multicast(unsigned to, const TensorMap& map, unsigned barrier, unsigned short blocks, int c0, int c1, int c2,
                                       int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, { %4, %5, %6, %7}], "
      "[%2], %3;" ::"r"(to),
      "l"(&map), "r"(barrier), "h"(blocks), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
FFPA_DEVICE void tma_load_5d_multicast(unsigned to, const TensorMap& map, unsigned barrier, unsigned short blocks, int c0, int c1, int c2,
                                       int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, { %4, %5, %6, %7, %8}], "
      "[%2], %3;" ::"r"(to),
      "l"(&map), "r"(barrier), "h"(blocks), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
