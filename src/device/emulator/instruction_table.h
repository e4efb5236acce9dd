// The functions that every kernel image is bound to.
#pragma once

#include "device/emulator/table.h"

namespace ffpa_jit::emulator {

const FfpaEmuTable& instruction_table();

}  // namespace ffpa_jit::emulator
