// Copies between host and device.
#include "ffpa-jit/on_device.h"

#include <chrono>
#include <cstring>

namespace ffpa_jit::cli {

OnDevice::OnDevice(HostProblem& problem, std::shared_ptr<Device> device)
    : problem_(problem), device_(std::move(device)), args_(problem.args) {
  if (!device_) return;
  const auto upload = [&](ffpa_jit_tensor& tensor, bool copy) {
    if (tensor.rank == 0) return;
    const size_t bytes = bytes_of(tensor);
    void* memory = device_->allocate(bytes ? bytes : 1, nullptr);
    allocations_.push_back(memory);
    if (copy) device_->copy_to_device(memory, tensor.data, bytes, nullptr);
    tensor.data = memory;
  };
  for (ffpa_jit_tensor* input :
       {&args_.q, &args_.k, &args_.v, &args_.mask, &args_.bias, &args_.cu_seqlens_q,
        &args_.cu_seqlens_k, &args_.sinks, &args_.seqlens_k, &args_.block_table}) {
    upload(*input, true);
  }
  for (ffpa_jit_tensor& tensor : args_.modifier_tensors) upload(tensor, true);
  upload(args_.o, false);
  upload(args_.lse, false);
  device_->synchronize(nullptr);
}

OnDevice::~OnDevice() {
  for (void* memory : allocations_) device_->release(memory, nullptr);
}

void OnDevice::poison() {
  for (const ffpa_jit_tensor* output : {&args_.o, &args_.lse}) {
    if (output->rank == 0) continue;
    if (device_) {
      device_->fill(output->data, 0xff, bytes_of(*output), nullptr);
    } else {
      std::memset(output->data, 0xff, bytes_of(*output));
    }
  }
}

void OnDevice::fetch() {
  if (!device_) return;
  device_->copy_to_host(problem_.args.o.data, args_.o.data, bytes_of(args_.o), nullptr);
  if (args_.lse.rank != 0) {
    device_->copy_to_host(problem_.args.lse.data, args_.lse.data, bytes_of(args_.lse), nullptr);
  }
  device_->synchronize(nullptr);
}

double OnDevice::time_ms(const std::function<void()>& work) {
  if (device_) return device_->time_ms(nullptr, work);
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace ffpa_jit::cli
