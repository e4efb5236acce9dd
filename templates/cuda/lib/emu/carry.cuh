// Sums with carry, emulated. PTX ISA, "Extended-Precision Integer Arithmetic Instructions: add.cc, addc".

// add.cc.u32, addc.u32: twice `bits`, plus the carry of a + b.
FFPA_DEVICE unsigned append_carry(unsigned bits, unsigned a, unsigned b) { return bits + bits + (a + b < a ? 1u : 0u); }
