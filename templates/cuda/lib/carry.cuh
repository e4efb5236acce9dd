// Sums with carry. PTX ISA, "Extended-Precision Integer Arithmetic Instructions: add.cc, addc".

// add.cc.u32, addc.u32: twice `bits`, plus the carry of a + b.
FFPA_DEVICE unsigned append_carry(unsigned bits, unsigned a, unsigned b) {
  asm("{ .reg .u32 sum; add.cc.u32 sum, %1, %2; addc.u32 %0, %0, %0; }" : "+r"(bits) : "r"(a), "r"(b));
  return bits;
}
