// Clusters of blocks and each other's shared memory, emulated. PTX ISA, "Special Registers", "Data Movement and Conversion
// Instructions: mapa, ld, st, st.async", "Parallel Synchronization and Communication Instructions: barrier.cluster, mbarrier".

// %cluster_ctarank
FFPA_DEVICE unsigned cluster_ctarank() { return ffpa_emu_self()->cluster_rank; }

// barrier.cluster.{arrive.release,wait.acquire}
FFPA_DEVICE void cluster_arrive() { ffpa_emu_cluster_arrive(); }
FFPA_DEVICE void cluster_wait() { ffpa_emu_cluster_wait(); }

// mapa.shared::cluster.u32
FFPA_DEVICE unsigned mapa(unsigned address, unsigned rank) { return ffpa_emu_map_shared(address, rank); }

// mbarrier.arrive.shared::cluster.b64
FFPA_DEVICE void mbarrier_arrive_cluster(unsigned barrier) { ffpa_emu_mbarrier_arrive(barrier, 0, true); }
FFPA_DEVICE void mbarrier_arrive_cluster_if(unsigned barrier, bool arrives) {
  if (arrives) ffpa_emu_mbarrier_arrive(barrier, 0, true);
}

// ld.shared::cluster.{u32,f32}, st.shared::cluster.{u32,f32,v4.u32}
FFPA_DEVICE unsigned ld_shared_cluster_u32(unsigned address) {
  unsigned value;
  ffpa_emu_load_cluster(&value, address, 4);
  return value;
}
FFPA_DEVICE float ld_shared_cluster_f32(unsigned address) {
  float value;
  ffpa_emu_load_cluster(&value, address, 4);
  return value;
}
FFPA_DEVICE void st_shared_cluster_u32(unsigned address, unsigned value) { ffpa_emu_store_cluster(address, &value, 4); }
FFPA_DEVICE void st_shared_cluster_f32(unsigned address, float value) { ffpa_emu_store_cluster(address, &value, 4); }
FFPA_DEVICE void st_shared_cluster_v4(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d) {
  const unsigned words[4] = {a, b, c, d};
  ffpa_emu_store_cluster(address, words, 16);
}

// st.async.shared::cluster.mbarrier::complete_tx::bytes.{u32,v4.u32}
FFPA_DEVICE void st_async_u32(unsigned address, unsigned value, unsigned barrier) { ffpa_emu_store_async(address, &value, 4, barrier); }
FFPA_DEVICE void st_async_v4(unsigned address, unsigned a, unsigned b, unsigned c, unsigned d, unsigned barrier) {
  const unsigned words[4] = {a, b, c, d};
  ffpa_emu_store_async(address, words, 16, barrier);
}
