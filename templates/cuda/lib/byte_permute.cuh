// Bytes of two registers rearranged. PTX ISA, "Data Movement and Conversion Instructions: prmt".

// prmt.b32: byte i is byte s of {a, b}, s being bits 4 i to 4 i + 2 of the selector; with bit 4 i + 3, that byte's sign in all eight bits.
FFPA_DEVICE unsigned prmt(unsigned a, unsigned b, unsigned selector) {
  unsigned bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
  return bytes;
}
