#include "ffpa-jit/device_choice.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "ffpa-jit/known_devices.h"
#include "ffpa-jit/problem_spec.h"

namespace ffpa_jit::cli {

ChosenDevice device_for_target(const ffpa::Runtime& runtime, const std::string& text,
                               const std::string& description) {
  const Target target = parse_target(text);
  switch (target.kind) {
    case TargetKind::kCpu: {
      const DeviceRef here{TargetKind::kCpu, 0};
      if (!description.empty()) {
        return {here,
                described_cpu(description, text == "cpu" ? std::nullopt : std::optional(target))};
      }
      DeviceInfo info = inside(runtime).devices().open(here)->info();
      if (text != "cpu") info.target = target;
      return {here, info};
    }
    case TargetKind::kCuda: {
      const DeviceRef ref{TargetKind::kCuda, 0};
      if (description.empty()) {
        for (DeviceInfo& here : list_cuda_devices(nullptr)) {
          if (here.target.compute_capability() != target.compute_capability()) continue;
          here.target = target;
          return {ref, here};
        }
      }
      return {ref, known_cuda_device(target, description)};
    }
    case TargetKind::kEmulator: {
      if (target.compute_capability() == 0) break;
      const DeviceRef ref{TargetKind::kEmulator, target.compute_capability()};
      return {ref, inside(runtime).devices().open(ref)->info()};
    }
    case TargetKind::kHip:
      break;
  }
  throw_error(FFPA_JIT_UNSUPPORTED,
              "target {} is known, but this release has no kernels for it; allowed: cpu, "
              "cpu:LEVEL, sm_75 to sm_121a, emu:sm_75 to emu:sm_121a",
              text);
}

void DeviceFlags::add_to(CLI::App& command) {
  command.add_option("--device", device_, "cpu, cuda, cuda:N, emu:sm_XX")
      ->capture_default_str()
      ->type_name("DEVICE");
  command.add_option("--target", target_, "Instead of --device: cpu:x86-64-v3, sm_90a, ...")
      ->type_name("TARGET");
  command
      .add_option("--for", description_,
                  "The device meant, which need not be here: a GPU as its driver names it "
                  "(\"NVIDIA H200\"), or a CPU (\"cpu:x86-64-v4 threads=64 l2=2M\")")
      ->type_name("NAME");
}

ChosenDevice DeviceFlags::choose(const ffpa::Runtime& runtime) const {
  if (target_.empty() && description_.empty()) {
    const DeviceRef ref = parse_device(device_);
    return {ref, inside(runtime).devices().open(ref)->info()};
  }
  return device_for_target(runtime, target_.empty() ? target_described_by(description_) : target_,
                           description_);
}

}  // namespace ffpa_jit::cli
