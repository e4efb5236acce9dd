// The parts that programs() is made of.
#pragma once

#include "emulator/instructions/program.h"

namespace ffpa_jit::testing {

std::vector<Program> matrix_programs();
std::vector<Program> exchange_programs();  // copies, shuffles, votes, barriers
std::vector<Program> scalar_programs();    // conversions, arithmetic

}  // namespace ffpa_jit::testing
