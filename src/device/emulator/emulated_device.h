// The device emu:sm_XX: runs CUDA kernels on this machine's processors, thread by thread, and
// reports what hardware hides. Memory is ordinary memory, a launch returns when the work is done,
// streams do not exist. Called by the runtime through Device.
//
// What a kernel does wrong is an Error DEVICE_ERROR "emulator: ..." from launch(); what it had
// written by then stays written.
#pragma once

#include <memory>

#include "device/device.h"
#include "device/emulator/options.h"

namespace ffpa_jit {

// `capability`: 80 for sm_80. Throws Error UNSUPPORTED for one that this library has no kernels
// for.
std::shared_ptr<Device> open_emulated_cuda_device(int capability, emulator::Options options);

}  // namespace ffpa_jit
