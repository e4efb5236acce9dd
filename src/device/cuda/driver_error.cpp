#include "device/cuda/driver_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ffpa_jit::cuda {
namespace {

struct Meaning {
  CUresult first, last;
  ffpa_jit_status status;
  bool sticky;
  const char* remedy;
};

constexpr char kLostContext[] =
    "the error is sticky: no later CUDA call of this process can succeed, restart it; it may come "
    "from an earlier "
    "kernel of any library (run under compute-sanitizer to find it)";
constexpr char kCapture[] =
    "the stream capture does not allow this: prepare the problem before the capture begins, and "
    "capture on a stream "
    "other than the default one";
constexpr char kImage[] =
    "the driver cannot take this kernel image: if the driver is older than the compiler that made "
    "it, update the "
    "driver; otherwise remove the kernel from the cache (ffpa-jit cache clear) so that it is "
    "compiled anew";

// Codes are CUresult's. What is not listed is a plain DEVICE_ERROR.
constexpr Meaning kMeanings[] = {
    {1, 1, FFPA_JIT_DEVICE_ERROR, false,
     "an argument is out of range: check that pointers and stream belong to this device and still "
     "exist"},
    {2, 2, FFPA_JIT_OUT_OF_MEMORY, false, "free device memory, or pass a smaller batch"},
    {3, 4, FFPA_JIT_DEVICE_ERROR, false,
     "the driver is not initialised or the process is ending; after fork() the child cannot use "
     "CUDA: start it with exec"},
    {34, 34, FFPA_JIT_NO_DEVICE, false,
     "the stub libcuda of the toolkit was loaded: take its directory out of LD_LIBRARY_PATH"},
    {36, 36, FFPA_JIT_DEVICE_ERROR, false, "update the NVIDIA driver"},
    {46, 46, FFPA_JIT_NO_DEVICE, false,
     "another process holds the device exclusively (nvidia-smi shows its compute mode)"},
    {100, 100, FFPA_JIT_NO_DEVICE, false,
     "there is no usable GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES and the container's GPU "
     "access"},
    {101, 101, FFPA_JIT_NO_DEVICE, false, "ask for an ordinal that `ffpa-jit devices` lists"},
    {200, 200, FFPA_JIT_DEVICE_ERROR, false, kImage},
    {201, 201, FFPA_JIT_DEVICE_ERROR, false,
     "the current context was destroyed: make a living one current, or none"},
    {209, 209, FFPA_JIT_DEVICE_ERROR, false, kImage},
    {214, 214, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {218, 218, FFPA_JIT_DEVICE_ERROR, false, kImage},
    {220, 220, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {222, 222, FFPA_JIT_DEVICE_ERROR, false, kImage},
    {226, 226, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {400, 400, FFPA_JIT_DEVICE_ERROR, false,
     "the stream does not exist or belongs to another context or device"},
    {500, 500, FFPA_JIT_DEVICE_ERROR, false, kImage},
    {700, 700, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {701, 701, FFPA_JIT_DEVICE_ERROR, false,
     "the kernel needs more registers or shared memory than this device has: leave the config out "
     "to take the default"},
    {702, 702, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {709, 710, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {714, 719, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {721, 721, FFPA_JIT_DEVICE_ERROR, true, kLostContext},
    {802, 804, FFPA_JIT_NO_DEVICE, false,
     "driver and kernel module (or fabric manager) do not match: reboot after a driver update, and "
     "check nvidia-smi"},
    {805, 810, FFPA_JIT_NO_DEVICE, false, "check the MPS server"},
    {900, 908, FFPA_JIT_DEVICE_ERROR, false, kCapture},
    {912, 912, FFPA_JIT_DEVICE_ERROR, false, "the cluster is too large for this device"},
};

const Meaning* meaning_of(CUresult result) {
  const auto* found =
      std::find_if(std::begin(kMeanings), std::end(kMeanings),
                   [&](const Meaning& m) { return result >= m.first && result <= m.last; });
  return found == std::end(kMeanings) ? nullptr : found;
}

}  // namespace

ffpa_jit_status status_of_failure(CUresult result) {
  const Meaning* meaning = meaning_of(result);
  return meaning ? meaning->status : FFPA_JIT_DEVICE_ERROR;
}

bool is_sticky(CUresult result) {
  const Meaning* meaning = meaning_of(result);
  return meaning && meaning->sticky;
}

std::string describe_failure(const Driver& driver, CUresult result, std::string_view call,
                             std::string_view doing) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "an unknown CUDA error";
  if (driver.cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no description";
  const Meaning* meaning = meaning_of(result);
  return fmt::format(
      "{} failed {}: {} ({}): {}; {}", call, doing, name, result, text,
      meaning ? meaning->remedy : "see the CUDA driver API's description of this error");
}

}  // namespace ffpa_jit::cuda
