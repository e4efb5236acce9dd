// mbarriers, emulated: objects of 8 bytes in shared memory, 8-byte aligned, that count arrivals and the bytes of
// asynchronous copies. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".

// mbarrier.init.shared::cta.b64: `arrivals` of each phase.
FFPA_DEVICE void mbarrier_init(unsigned barrier, unsigned arrivals) { ffpa_emu_mbarrier_init(barrier, arrivals); }

// fence.mbarrier_init.release.cluster
FFPA_DEVICE void fence_mbarrier_init() { ffpa_emu_fence(kFfpaEmuFenceMbarrierInit); }

// mbarrier.arrive.shared::cta.b64
FFPA_DEVICE void mbarrier_arrive(unsigned barrier) { ffpa_emu_mbarrier_arrive(barrier, 0, false); }
FFPA_DEVICE void mbarrier_arrive_if(unsigned barrier, bool arrives) {
  if (arrives) ffpa_emu_mbarrier_arrive(barrier, 0, false);
}

// mbarrier.arrive.expect_tx.shared::cta.b64: `bytes` more are expected in this phase, then one arrival.
FFPA_DEVICE void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) { ffpa_emu_mbarrier_arrive(barrier, bytes, false); }

// mbarrier.try_wait.parity.shared::cta.b64, until it holds.
FFPA_DEVICE void mbarrier_wait(unsigned barrier, unsigned parity) { ffpa_emu_mbarrier_wait(barrier, parity, false); }

// mbarrier.try_wait.parity.shared::cta.b64: false only when nobody else can go on.
FFPA_DEVICE bool mbarrier_try_wait(unsigned barrier, unsigned parity) { return ffpa_emu_mbarrier_wait(barrier, parity, true) != 0; }
