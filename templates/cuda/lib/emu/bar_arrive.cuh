// PTX ISA, "Parallel Synchronization and Communication Instructions: bar.arrive", emulated.

// bar.arrive id, threads: counts at barrier `id` and goes on; those who wait there see what was written before.
FFPA_DEVICE void bar_arrive(unsigned id, unsigned threads) { ffpa_emu_bar_arrive(id, threads); }
