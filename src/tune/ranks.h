// Ranks: which part of the tasks this process takes when the same command runs on several hosts or
// GPUs under mpirun or srun. Nothing is exchanged: every rank writes what it finds into the store.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ffpa_jit {

struct Ranks {
  int rank = 0, size = 1;              // among all
  int local_rank = 0, local_size = 1;  // among those of this host
};

// From what the launchers set: OMPI_COMM_WORLD_* (Open MPI), PMI_* and MPI_LOCAL* (MPICH, Intel
// MPI), SLURM_*. `get` returns a variable's value, or nullptr. Throws Error INVALID_ARGUMENT for a
// value that is no number or a rank outside its size.
Ranks read_ranks(const std::function<const char*(const char* name)>& get);

// The devices of `all` that this rank uses: the ranks of a host share them out; more ranks than
// devices share them.
std::vector<int> devices_of(const Ranks& ranks, const std::vector<int>& all);

}  // namespace ffpa_jit
