// Fragments of mma from shared memory, emulated. PTX ISA, "Warp Level Matrix Instructions: ldmatrix".
// Lane 8 i + r gives the address of row r of matrix i: 16 bytes, 16-byte aligned.

// ldmatrix.sync.aligned.m8n8.x4.shared.b16: to[i] = elements 2 (lane % 4), + 1 of row lane / 4 of matrix i.
FFPA_DEVICE void ldmatrix_x4(unsigned (&to)[4], unsigned address) { ffpa_emu_ldmatrix(4, false, to, address); }

// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16: the same of the transposed matrices.
FFPA_DEVICE void ldmatrix_x4_trans(unsigned (&to)[4], unsigned address) { ffpa_emu_ldmatrix(4, true, to, address); }
