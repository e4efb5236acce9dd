// Worker: the memory that running one cluster of thread blocks needs (stacks, shared memory, what
// is known of it), kept from one cluster to the next. One thread uses a worker at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/aligned_memory.h"
#include "device/emulator/fiber_stacks.h"
#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

class Worker {
 public:
  // Runs cluster `index` of the launch's grid; true: it finished, false: failure() says what was
  // wrong.
  bool run(const Launch& launch, uint64_t index);
  const Failure& failure() const { return cluster_.failure; }

 private:
  void set_up(const Launch& launch, uint64_t index);
  void set_up_block(const Launch& launch, unsigned rank, FfpaEmuIndex first);

  FiberStacks stacks_;
  std::vector<std::unique_ptr<void, FreeMemory>> shared_;
  std::vector<std::unique_ptr<ShadowMemory>> shadows_;
  Cluster cluster_;
  size_t async_actors_ = 0;  // of the cluster before
};

}  // namespace ffpa_jit::emulator
