// Copies from global to shared memory that run while the thread goes on, emulated. PTX ISA, "Data Movement and
// Conversion Instructions: cp.async".

// cp.async.cg.shared.global 16: the first `source_bytes` (0 to 16) bytes of `from`, the rest zeros; both addresses
// 16-byte aligned. Nothing happens unless `enabled`.
FFPA_DEVICE void cp_async_cg_16(unsigned to, const void* from, unsigned source_bytes, bool enabled = true) {
  if (enabled) ffpa_emu_cp_async(to, from, 16, source_bytes);
}

// cp.async.commit_group: closes this thread's group of copies; a group may be empty.
FFPA_DEVICE void cp_async_commit_group() { ffpa_emu_cp_async_commit(); }

// cp.async.wait_group: returns when at most kPending of this thread's groups have not landed.
template <int kPending>
FFPA_DEVICE void cp_async_wait_group() {
  ffpa_emu_cp_async_wait(kPending);
}
