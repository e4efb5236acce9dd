// Barriers of a thread block. PTX ISA, "Parallel Synchronization and Communication Instructions".

// bar.sync 0: every thread of the block arrives and waits; shared memory written before is seen after.
FFPA_DEVICE void bar_sync() { asm volatile("bar.sync 0;" ::: "memory"); }

// bar.red.or.pred 0: as bar.sync, and returns whether any thread brought `predicate`.
FFPA_DEVICE bool bar_red_or(bool predicate) {
  unsigned result;
  asm volatile(
      "{ .reg .pred in, out;\n"
      "  setp.ne.u32 in, %1, 0;\n"
      "  bar.red.or.pred out, 0, in;\n"
      "  selp.u32 %0, 1, 0, out; }"
      : "=r"(result)
      : "r"((unsigned)predicate)
      : "memory");
  return result != 0;
}
