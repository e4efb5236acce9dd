// Bytes of two registers rearranged, emulated. PTX ISA, "Data Movement and Conversion Instructions: prmt".

// prmt.b32: byte i is byte s of {a, b}, s being bits 4 i to 4 i + 2 of the selector; with bit 4 i + 3, that byte's sign in all eight bits.
FFPA_DEVICE unsigned prmt(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long from = (unsigned long long)b << 32 | a;
  unsigned bytes = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i);
    const unsigned byte = (unsigned)(from >> (8 * (nibble & 7))) & 0xffu;
    bytes |= (nibble & 8 ? 0u - (byte >> 7) & 0xffu : byte) << (8 * i);
  }
  return bytes;
}
