// cp.async of fewer than 16 bytes, emulated. PTX ISA, "Data Movement and Conversion Instructions: cp.async".

// cp.async.ca.shared.global 4, 8: the first `source_bytes` bytes of `from`, the rest zeros; aligned to their size.
FFPA_DEVICE void cp_async_ca_4(unsigned to, const void* from, unsigned source_bytes) { ffpa_emu_cp_async(to, from, 4, source_bytes); }
FFPA_DEVICE void cp_async_ca_8(unsigned to, const void* from, unsigned source_bytes) { ffpa_emu_cp_async(to, from, 8, source_bytes); }

// cp.async.wait_all: returns when all of this thread's copies have landed.
FFPA_DEVICE void cp_async_wait_all() { ffpa_emu_cp_async_wait(~0u); }
