// mbarriers: objects of 8 bytes in shared memory, 8-byte aligned, that count arrivals and the bytes of asynchronous copies.
// A phase is over when all expected arrivals and bytes have come; the next begins by itself. PTX ISA, "Parallel
// Synchronization and Communication Instructions: mbarrier"; sm_90 and later. Addresses are of the .shared state space.

// mbarrier.init.shared::cta.b64: `arrivals` of each phase. By one thread, before anybody else looks at it.
FFPA_DEVICE void mbarrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// fence.mbarrier_init.release.cluster: the inits before it are seen by the asynchronous proxy and by the cluster.
FFPA_DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// mbarrier.arrive.shared::cta.b64: one arrival; what the thread wrote before is seen by those who wait.
FFPA_DEVICE void mbarrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// The same for a thread of which `arrives` holds: a predicate of the instruction, no branch.
FFPA_DEVICE void mbarrier_arrive_if(unsigned barrier, bool arrives) {
  asm volatile(
      "{ .reg .pred arrives;\n"
      "  setp.ne.u32 arrives, %1, 0;\n"
      "  @arrives mbarrier.arrive.shared::cta.b64 _, [%0]; }" ::"r"(barrier),
      "r"((unsigned)arrives)
      : "memory");
}

// mbarrier.arrive.expect_tx.shared::cta.b64: one arrival, and `bytes` more are expected in this phase.
FFPA_DEVICE void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// mbarrier.try_wait.parity.shared::cta.b64, until it holds: the phase of this parity is over. Phases are numbered from 0; of a fresh
// barrier, the phase of parity 1 counts as over.
FFPA_DEVICE void mbarrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred over;\n"
      "again_%=:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "  @over bra done_%=;\n"
      "  bra again_%=;\n"
      "done_%=: }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// mbarrier.try_wait.parity.shared::cta.b64: whether the phase of this parity is over; may suspend the thread for a while.
FFPA_DEVICE bool mbarrier_try_wait(unsigned barrier, unsigned parity) {
  unsigned over;
  asm volatile(
      "{ .reg .pred over;\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
      "  selp.u32 %0, 1, 0, over; }"
      : "=r"(over)
      : "r"(barrier), "r"(parity)
      : "memory");
  return over != 0;
}
