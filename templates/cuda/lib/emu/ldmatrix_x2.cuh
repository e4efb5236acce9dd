// ldmatrix of one and two matrices, emulated: as in ldmatrix.cuh, addresses from lanes 0 to 7 and 0 to 15.

FFPA_DEVICE void ldmatrix_x1(unsigned (&to)[1], unsigned address) { ffpa_emu_ldmatrix(1, false, to, address); }
FFPA_DEVICE void ldmatrix_x1_trans(unsigned (&to)[1], unsigned address) { ffpa_emu_ldmatrix(1, true, to, address); }
FFPA_DEVICE void ldmatrix_x2(unsigned (&to)[2], unsigned address) { ffpa_emu_ldmatrix(2, false, to, address); }
FFPA_DEVICE void ldmatrix_x2_trans(unsigned (&to)[2], unsigned address) { ffpa_emu_ldmatrix(2, true, to, address); }
