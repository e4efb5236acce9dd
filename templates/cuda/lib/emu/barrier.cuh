// Barriers of a thread block and of a warp, emulated. PTX ISA, "Parallel Synchronization and Communication
// Instructions".

// bar.sync 0: every thread of the block arrives and waits; shared memory written before is seen after.
FFPA_DEVICE void bar_sync() { ffpa_emu_bar_sync(0, 0); }

// bar.red.or.pred 0: as bar.sync, and returns whether any thread brought `predicate`.
FFPA_DEVICE bool bar_red_or(bool predicate) { return ffpa_emu_bar_red(kFfpaEmuReduceOr, 0, 0, predicate) != 0; }

// bar.warp.sync: the 32 lanes of the warp, with the same promise about memory.
FFPA_DEVICE void bar_warp_sync() { ffpa_emu_warp_sync(0xffffffffu); }
