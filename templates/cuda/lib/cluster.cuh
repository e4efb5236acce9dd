// Clusters of blocks and each other's shared memory. PTX ISA, "Special Registers", "Data Movement and Conversion
// Instructions: mapa, ld, st, st.async", "Parallel Synchronization and Communication Instructions: barrier.cluster, mbarrier"; sm_90 and later.

// %cluster_ctarank: this block's rank in its cluster.
FFPA_DEVICE unsigned cluster_ctarank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// barrier.cluster.{arrive.release,wait.acquire}: all threads of the cluster. Before a block's first access to another's shared
// memory, so that it is there, and before a block ends that others may still access.
FFPA_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
FFPA_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// mapa.shared::cluster.u32: the address, of the .shared::cluster window, of what is at `address` of this block in the block of rank `rank`.
FFPA_DEVICE unsigned mapa(unsigned address, unsigned rank) {
  unsigned mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

// mbarrier.arrive.shared::cluster.b64: one arrival at a barrier of any block of the cluster; `barrier` is an address that mapa gave.
FFPA_DEVICE void mbarrier_arrive_cluster(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
FFPA_DEVICE void mbarrier_arrive_cluster_if(unsigned barrier, bool arrives) {
  asm volatile(
      "{ .reg .pred arrives;\n"
      "  setp.ne.u32 arrives, %1, 0;\n"
      "  @arrives mbarrier.arrive.shared::cluster.b64 _, [%0]; }" ::"r"(barrier),
      "r"((unsigned)arrives)
      : "memory");
}

// ld.shared::cluster.{u32,f32}, st.shared::cluster.{u32,f32,v4.u32}: addresses that mapa gave.
FFPA_DEVICE unsigned ld_shared_cluster_u32(unsigned address) {
  unsigned value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
FFPA_DEVICE float ld_shared_cluster_f32(unsigned address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}
FFPA_DEVICE void st_shared_cluster_u32(unsigned address, unsigned value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
FFPA_DEVICE void st_shared_cluster_f32(unsigned address, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
FFPA_DEVICE void st_shared_cluster_v4(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("st.shared::cluster.v4.u32 [%0], { %1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

// st.async.shared::cluster.mbarrier::complete_tx::bytes.{u32,v4.u32}: written some time later, then 4 (16) bytes are counted at `barrier`, which is
// in the same block as `address`; both are addresses that mapa gave.
FFPA_DEVICE void st_async_u32(unsigned address, unsigned value, unsigned barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(address), "r"(value), "r"(barrier)
               : "memory");
}
FFPA_DEVICE void st_async_v4(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d, unsigned barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], { %1, %2, %3, %4}, [%5];" ::"r"(address), "r"(a),
               "r"(b), "r"(c), "r"(d), "r"(barrier)
               : "memory");
}
