#include "device/cuda/driver_api.h"

#include <fmt/format.h>

#include <mutex>

#include "device/cuda/driver_error.h"

namespace ffpa_jit::cuda {

std::shared_ptr<const Driver> Driver::open(const std::vector<std::string>& names,
                                           std::string* reason) {
  std::string why;
  auto library = DynamicLibrary::open(names, &why);
  if (!library) {
    if (reason) {
      *reason = fmt::format(
          "the NVIDIA driver is not installed ({}); install it, or in a container start it with "
          "GPU "
          "access (NVIDIA Container Toolkit)",
          why);
    }
    return nullptr;
  }
  // Contexts and streams of the whole process live in it.
  library->keep_loaded();
  std::shared_ptr<Driver> driver(new Driver(std::move(*library)));

  std::string missing;
#define FFPA_CUDA_LOAD(name, exported, parameters) \
  driver->name = reinterpret_cast<CUresult(*) parameters>(driver->library_.symbol(#exported));
#define FFPA_CUDA_LOAD_REQUIRED(name, exported, parameters) \
  FFPA_CUDA_LOAD(name, exported, parameters)                \
  if (!driver->name) missing += missing.empty() ? #exported : ", " #exported;
  FFPA_CUDA_REQUIRED(FFPA_CUDA_LOAD_REQUIRED)
  FFPA_CUDA_OPTIONAL(FFPA_CUDA_LOAD)
#undef FFPA_CUDA_LOAD_REQUIRED
#undef FFPA_CUDA_LOAD
  if (!missing.empty()) {
    if (reason) {
      *reason =
          fmt::format("{} lacks {}; it is older than CUDA 11 or not NVIDIA's: update the driver",
                      driver->library_.name(), missing);
    }
    return nullptr;
  }

  const CUresult initialised = driver->cuInit(0);
  if (initialised != CUDA_SUCCESS) {
    if (reason) *reason = describe_failure(*driver, initialised, "cuInit", "starting the driver");
    return nullptr;
  }
  if (driver->cuDriverGetVersion(&driver->version_) != CUDA_SUCCESS) driver->version_ = 0;
  return driver;
}

std::shared_ptr<const Driver> Driver::system(std::string* reason) {
  static std::mutex mutex;
  static std::shared_ptr<const Driver> driver;
  const std::lock_guard lock(mutex);
  if (!driver) driver = open({"libcuda.so.1", "libcuda.so"}, reason);
  return driver;
}

void Driver::fail(CUresult result, std::string_view call, std::string_view doing) const {
  throw Error(status_of_failure(result), describe_failure(*this, result, call, doing));
}

}  // namespace ffpa_jit::cuda
