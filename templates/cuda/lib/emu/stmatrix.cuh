// Fragments of mma to shared memory, emulated. PTX ISA, "Warp Level Matrix Instructions: stmatrix": what ldmatrix.cuh
// reads, written.

FFPA_DEVICE void stmatrix_x4(unsigned address, const unsigned (&from)[4]) { ffpa_emu_stmatrix(4, false, from, address); }
FFPA_DEVICE void stmatrix_x4_trans(unsigned address, const unsigned (&from)[4]) { ffpa_emu_stmatrix(4, true, from, address); }
