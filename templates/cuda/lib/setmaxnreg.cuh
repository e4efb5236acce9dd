// PTX ISA, "Miscellaneous Instructions: setmaxnreg"; sm_90a. By all warps of a warpgroup; 24 to 256, a multiple of 8.

// setmaxnreg.{inc,dec}.sync.aligned.u32: takes registers from the block's pool, waiting until they are there; gives them back.
template <int kRegisters>
FFPA_DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
FFPA_DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
