// Special registers. PTX ISA, "Special Registers".

// %ctaid.x, read anew at each call: what is computed from it later need not be kept in registers until then.
FFPA_DEVICE unsigned ctaid_x() {
  unsigned value;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}

// %dynamic_smem_size: bytes of dynamic shared memory that the launch asked for.
FFPA_DEVICE unsigned dynamic_smem_size() {
  unsigned value;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(value));
  return value;
}

// %tid.x, likewise.
FFPA_DEVICE unsigned tid_x() {
  unsigned value;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(value));
  return value;
}
