// Special registers. PTX ISA, "Special Registers".

// %ctaid.x, read anew at each call: what is computed from it later need not be kept in registers until then.
FFPA_DEVICE unsigned ctaid_x() {
  unsigned value;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}
