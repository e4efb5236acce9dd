// cp.async of fewer than 16 bytes. PTX ISA, "Data Movement and Conversion Instructions: cp.async"; sm_80 and later.

// cp.async.ca.shared.global 4, 8: the first `source_bytes` bytes of `from`, the rest zeros; aligned to their size.
FFPA_DEVICE void cp_async_ca_4(unsigned to, const void* from, unsigned source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}
FFPA_DEVICE void cp_async_ca_8(unsigned to, const void* from, unsigned source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}

// cp.async.wait_all: returns when all of this thread's copies have landed.
FFPA_DEVICE void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
