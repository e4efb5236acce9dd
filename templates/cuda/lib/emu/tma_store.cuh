// Boxes from shared to global memory, emulated. PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor",
// "cp.reduce.async.bulk.tensor", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group".

// cp.async.bulk.tensor.{4d,5d}.global.shared::cta.tile.bulk_group
FFPA_DEVICE void tma_store_4d(const TensorMap& map, unsigned from, int c0, int c1, int c2, int c3) {
  ffpa_emu_tensor_store({&map, 4, {c0, c1, c2, c3}}, from, kFfpaEmuTensorWrite);
}
FFPA_DEVICE void tma_store_5d(const TensorMap& map, unsigned from, int c0, int c1, int c2, int c3, int c4) {
  ffpa_emu_tensor_store({&map, 5, {c0, c1, c2, c3, c4}}, from, kFfpaEmuTensorWrite);
}

// cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group
FFPA_DEVICE void tma_reduce_add_4d(const TensorMap& map, unsigned from, int c0, int c1, int c2, int c3) {
  ffpa_emu_tensor_store({&map, 4, {c0, c1, c2, c3}}, from, kFfpaEmuTensorAdd);
}

FFPA_DEVICE void tma_store_commit_group() { ffpa_emu_bulk_commit(); }

// cp.async.bulk.wait_group{.read}: the emulator does not tell a group that has been read from one that is complete.
template <int kPending>
FFPA_DEVICE void tma_store_wait_group() {
  ffpa_emu_bulk_wait(kPending);
}
template <int kPending>
FFPA_DEVICE void tma_store_wait_group_read() {
  ffpa_emu_bulk_wait(kPending);
}
