// Votes of a warp. PTX ISA, "Parallel Synchronization and Communication Instructions: vote.sync".

// vote.sync.any.pred: whether any of the 32 lanes brought `predicate`.
FFPA_DEVICE bool vote_any(bool predicate) {
  unsigned result;
  asm volatile(
      "{ .reg .pred in, out;\n"
      "  setp.ne.u32 in, %1, 0;\n"
      "  vote.sync.any.pred out, in, 0xffffffff;\n"
      "  selp.u32 %0, 1, 0, out; }"
      : "=r"(result)
      : "r"((unsigned)predicate));
  return result != 0;
}
