// Clusters: barrier.cluster, and each other's shared memory. PTX ISA, "Parallel Synchronization and
// Communication Instructions: barrier.cluster", "Data Movement and Conversion Instructions: mapa,
// ld, st".
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void cluster_arrive(FfpaEmuThread* self, const void* place);
void cluster_wait(FfpaEmuThread* self, const void* place);

// The address in the block of rank `rank` of what is at `address`.
unsigned map_shared(FfpaEmuThread* self, const void* place, unsigned address, unsigned rank);

// Memory by an address of the .shared::cluster window, checked like a load or store.
void* cluster_memory(FfpaEmuThread* self, const void* place, unsigned address, unsigned bytes,
                     unsigned writes);

// The block that `address` is in, which has begun and not ended as far as the thread can know.
Block& block_of_address(Fiber& fiber, const void* place, const char* what, uint32_t address);
Block& block_of_rank(Fiber& fiber, const void* place, const char* what, unsigned rank);

// A generic address: true when it is in another block's shared memory, which is checked.
bool access_cluster(Fiber& fiber, const void* place, uintptr_t address, uint64_t bytes,
                    unsigned alignment, bool writes);

// A thread has left the kernel.
void thread_left_cluster(Fiber& fiber);

}  // namespace ffpa_jit::emulator
