// cp.async.bulk and st.async: copies in the background. PTX ISA, "Data Movement and Conversion
// Instructions: cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, st.async".
//
// Copies to shared memory land at once (Order::kEarly), or one at a time when no thread can go on,
// and are then counted at their mbarrier. Copies to global memory happen when their thread waits
// for them (kEarly: at once).
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void tensor_load(FfpaEmuThread* self, const void* place, unsigned to, const FfpaEmuTensorBox* box,
                 unsigned barrier, unsigned blocks);
void tensor_store(FfpaEmuThread* self, const void* place, const FfpaEmuTensorBox* box,
                  unsigned from, FfpaEmuTensorStore kind);
void bulk_load(FfpaEmuThread* self, const void* place, unsigned to, const void* from,
               unsigned bytes, unsigned barrier);
void bulk_store(FfpaEmuThread* self, const void* place, void* to, unsigned from, unsigned bytes);
void bulk_send(FfpaEmuThread* self, const void* place, unsigned to, unsigned from, unsigned bytes,
               unsigned barrier);
void bulk_commit(FfpaEmuThread* self, const void* place);
void bulk_wait(FfpaEmuThread* self, const void* place, unsigned pending_groups);
void store_async(FfpaEmuThread* self, const void* place, unsigned address, const void* from,
                 unsigned bytes, unsigned barrier);

// Copy number `index` of Cluster::loads lands. False: that ended the launch.
bool land(Cluster& cluster, size_t index);

// Everybody has left the kernel. False: that a copy landed is known to nobody, which has failed the
// launch.
bool all_copies_waited_for(Cluster& cluster);

// A thread has left the kernel; ends the launch if shared memory is still being read for it.
void check_stores_over(Fiber& fiber);

}  // namespace ffpa_jit::emulator
