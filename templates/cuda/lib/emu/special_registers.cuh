// Special registers, emulated. PTX ISA, "Special Registers".

// %ctaid.x
FFPA_DEVICE unsigned ctaid_x() { return blockIdx.x; }

// %dynamic_smem_size
FFPA_DEVICE unsigned dynamic_smem_size() { return ffpa_emu_self()->dynamic_shared_bytes; }

// %tid.x
FFPA_DEVICE unsigned tid_x() { return threadIdx.x; }
