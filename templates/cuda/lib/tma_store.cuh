// Boxes from shared to global memory by the tensor memory accelerator. PTX ISA, "Data Movement and Conversion
// Instructions: cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group";
// sm_90 and later. One thread issues, after fence_proxy_async_shared() by those who wrote and a barrier; elements past the tensor's end are
// not written; coordinates are not negative (an illegal instruction), the innermost one a multiple of 16 bytes.

// cp.async.bulk.tensor.{4d,5d}.global.shared::cta.tile.bulk_group
FFPA_DEVICE void tma_store_4d(const TensorMap& map, unsigned from, int c0, int c1, int c2, int c3) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, { %2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(from),
               "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}
FFPA_DEVICE void tma_store_5d(const TensorMap& map, unsigned from, int c0, int c1, int c2, int c3, int c4) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, { %2, %3, %4, %5, %6}], [%1];" ::"l"(&map), "r"(from),
               "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
               : "memory");
}

// cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group: adds element by element, of the map's type.
FFPA_DEVICE void tma_reduce_add_4d(const TensorMap& map, unsigned from, int c0, int c1, int c2, int c3) {
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group [%0, { %2, %3, %4, %5}], [%1];" ::"l"(&map),
               "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}

// cp.async.bulk.commit_group: closes this thread's group of stores.
FFPA_DEVICE void tma_store_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// cp.async.bulk.wait_group: at most kPending of this thread's groups are not complete. _read: have not read shared memory.
template <int kPending>
FFPA_DEVICE void tma_store_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
FFPA_DEVICE void tma_store_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
