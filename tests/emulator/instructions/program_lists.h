// The parts that programs() is made of.
#pragma once

#include "emulator/instructions/program.h"

namespace ffpa_jit::testing {

std::vector<Program> matrix_programs();
std::vector<Program> exchange_programs();  // copies, shuffles, votes, barriers
std::vector<Program> scalar_programs();    // conversions, arithmetic
std::vector<Program> atomic_programs();
std::vector<Program> barrier_programs();    // mbarriers, elect.sync, setmaxnreg
std::vector<Program> bulk_copy_programs();  // boxes of tensors, runs of bytes
std::vector<Program> cluster_programs();    // each other's shared memory, multicast
std::vector<Program> warpgroup_programs();  // wgmma

}  // namespace ffpa_jit::testing
