// OnDevice: a HostProblem where it runs. On the CPU that is the same memory; on a GPU, copies.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "ffpa-jit/host_problem.h"

namespace ffpa_jit::cli {

class OnDevice {
 public:
  // Copies the inputs. `device` null: the host's own memory.
  OnDevice(HostProblem& problem, std::shared_ptr<Device> device);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

  const ffpa::Attention& args() const { return args_; }
  // Every byte of O and LSE becomes 0xff: NaN in all three types, so that an element left unwritten
  // is seen.
  void poison();
  // Copies O and LSE back into the HostProblem's memory.
  void fetch();
  // Milliseconds of `work` on the device.
  double time_ms(const std::function<void()>& work);

 private:
  HostProblem& problem_;
  std::shared_ptr<Device> device_;
  ffpa::Attention args_;
  std::vector<void*> allocations_;
};

}  // namespace ffpa_jit::cli
