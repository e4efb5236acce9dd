// tma.cuh's loads into several blocks of a cluster at once, emulated: bit i of `blocks` stands for the block of rank i.
// PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor".

// cp.async.bulk.tensor.{4d,5d}.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
FFPA_DEVICE void tma_load_4d_multicast(unsigned to, const TensorMap& map, unsigned barrier, unsigned short blocks, int c0, int c1, int c2,
                                       int c3) {
  ffpa_emu_tensor_load(to, {&map, 4, {c0, c1, c2, c3}}, barrier, blocks);
}
FFPA_DEVICE void tma_load_5d_multicast(unsigned to, const TensorMap& map, unsigned barrier, unsigned short blocks, int c0, int c1, int c2,
                                       int c3, int c4) {
  ffpa_emu_tensor_load(to, {&map, 5, {c0, c1, c2, c3, c4}}, barrier, blocks);
}
