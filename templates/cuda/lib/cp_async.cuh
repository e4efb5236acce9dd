// Copies from global to shared memory that run while the thread goes on. PTX ISA, "Data Movement and Conversion
// Instructions: cp.async"; sm_80 and later.

// cp.async.cg.shared.global 16: the first `source_bytes` (0 to 16) bytes of `from`, the rest zeros; both addresses
// 16-byte aligned. Goes past L1. Nothing happens unless `enabled`, a predicate of the instruction: no branch.
FFPA_DEVICE void cp_async_cg_16(unsigned to, const void* from, unsigned source_bytes, bool enabled = true) {
  asm volatile(
      "{ .reg .pred enabled;\n"
      "  setp.ne.u32 enabled, %3, 0;\n"
      "  @enabled cp.async.cg.shared.global [%0], [%1], 16, %2; }" ::"r"(to),
      "l"(from), "r"(source_bytes), "r"((unsigned)enabled)
      : "memory");
}

// cp.async.commit_group: closes this thread's group of copies; a group may be empty.
FFPA_DEVICE void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// cp.async.wait_group: returns when at most kPending of this thread's groups have not landed.
template <int kPending>
FFPA_DEVICE void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
