// setmaxnreg, emulated: registers are not, the block's pool of them is. PTX ISA, "Miscellaneous Instructions: setmaxnreg".
template <int kRegisters>
FFPA_DEVICE void setmaxnreg_inc() {
  ffpa_emu_set_max_registers(kRegisters, true);
}
template <int kRegisters>
FFPA_DEVICE void setmaxnreg_dec() {
  ffpa_emu_set_max_registers(kRegisters, false);
}
