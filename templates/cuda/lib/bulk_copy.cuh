// Runs of bytes copied in the background. PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk"; sm_90 and later.
// One thread issues; addresses and sizes are multiples of 16. The bytes of copies to shared memory are counted at an mbarrier; stores
// are closed and waited for by tma_store_commit_group() and tma_store_wait_group() of tma_store.cuh.

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
FFPA_DEVICE void bulk_load(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes),
               "r"(barrier)
               : "memory");
}

// cp.async.bulk.global.shared::cta.bulk_group
FFPA_DEVICE void bulk_store(void* to, unsigned from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
}

// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes: to another block of the cluster; `to` and `barrier` are
// addresses there, that mapa gave.
FFPA_DEVICE void bulk_send(unsigned to, unsigned from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "r"(from),
               "r"(bytes), "r"(barrier)
               : "memory");
}
