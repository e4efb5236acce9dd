// Barriers of some of a block's warps. PTX ISA, "Parallel Synchronization and Communication Instructions: bar".

// bar.sync id, threads: the first `threads` threads to arrive at barrier `id` (1 to 15) wait for each other; whole
// warps. Shared memory written before is seen after.
FFPA_DEVICE void bar_sync(unsigned id, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
