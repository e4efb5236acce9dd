// Loads and stores of emulated threads: checked before they happen. Called for every access of a
// kernel's own code (through the compiler's instrumentation) and by the instructions that access
// memory.
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

// Generic addresses. alignment 1: none needed.
void check_read(FfpaEmuThread* self, const void* place, const void* memory,
                unsigned long long bytes, unsigned alignment);
void check_write(FfpaEmuThread* self, const void* place, void* memory, unsigned long long bytes,
                 unsigned alignment);
void check_atomic(FfpaEmuThread* self, const void* place, void* memory, unsigned bytes);

// Addresses of the .shared state space.
unsigned shared_address(FfpaEmuThread* self, const void* place, const void* memory);
void* shared_memory(FfpaEmuThread* self, const void* place, unsigned address, unsigned bytes);

// In a launch with clusters an address of shared memory holds the rank of its block from this bit
// on.
constexpr unsigned kRankShift = 24;
inline uint32_t shared_offset(const Block& block, uint32_t address) {
  return address ^ block.rank << kRankShift;
}

// Shared memory of the thread's own block by its address, on behalf of `fiber`: bounds, alignment,
// and what ShadowMemory finds. Return the memory.
const unsigned char* read_shared(Fiber& fiber, const void* place, Op op, uint32_t address,
                                 uint32_t bytes);
unsigned char* write_shared(Fiber& fiber, const void* place, Op op, uint32_t address,
                            uint32_t bytes);
// The same without ShadowMemory.
unsigned char* locate_shared(Fiber& fiber, const void* place, const char* what, uint32_t address,
                             uint32_t bytes);

// Bounds and alignment in any block.
void check_shared(Fiber& fiber, const void* place, const char* what, uint64_t offset,
                  uint64_t bytes, unsigned alignment);

Accessor accessor_of(const Fiber& fiber, const void* place);
[[noreturn]] void fail_shared(Fiber& fiber, const void* place, const char* what, uint32_t bytes,
                              const Finding& finding);
Failure shared_failure(const Fiber& fiber, const void* place, const char* what, uint32_t bytes,
                       const Finding& finding);

}  // namespace ffpa_jit::emulator
