// Special registers, emulated. PTX ISA, "Special Registers".

// %ctaid.x
FFPA_DEVICE unsigned ctaid_x() { return blockIdx.x; }
