// PTX ISA, "Parallel Synchronization and Communication Instructions: bar.arrive".

// bar.arrive id, threads: counts at barrier `id` and goes on; those who wait there see what was written before.
FFPA_DEVICE void bar_arrive(unsigned id, unsigned threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
