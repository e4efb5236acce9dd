#include "device/cpu/cpu_device.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "device/cpu/aligned_memory.h"
#include "device/cpu/cpu_facts.h"
#include "device/cpu/kernel_image.h"

namespace ffpa_jit {
namespace {

class CpuKernel final : public LoadedKernel {
 public:
  explicit CpuKernel(HostKernel function) : function_(std::move(function)) {}

  CpuKernel(std::span<const std::byte> bytes, const std::string& entry)
      : image_(std::in_place, bytes, entry),
        function_(reinterpret_cast<void (*)(const void*, unsigned, unsigned, unsigned, void*)>(
            image_->entry())) {}

  const HostKernel& function() const { return function_; }

 private:
  std::optional<KernelImage> image_;  // before function_, which points into it
  HostKernel function_;
};

DeviceInfo make_info(int num_threads, const std::optional<Target>& level) {
  const CpuFacts facts = read_cpu_facts();
  DeviceInfo info;
  info.name = facts.model_name;
  info.text = "cpu";
  info.multiprocessors = num_threads > 0 ? num_threads : facts.usable_threads;
  info.shared_bytes_per_block = facts.l2_bytes;
  info.memory_bytes = facts.memory_bytes;
#if defined(__x86_64__)
  info.target = level ? host_cpu_target_at_most(*level) : host_cpu_target();
#else
  (void)level;
  info.target = Target{TargetKind::kCpu, "generic"};  // the portable kernel alone runs here
#endif
  info.identity = cpu_identity(info);
  return info;
}

}  // namespace

std::string cpu_identity(const DeviceInfo& info) {
  return fmt::format("{} {} threads={} l2={}K", info.name, text_of(info.target),
                     info.multiprocessors, info.shared_bytes_per_block >> 10);
}

CpuDevice::CpuDevice(int num_threads, const std::optional<Target>& level)
    : info_(make_info(num_threads, level)), pool_(info_.multiprocessors) {}

std::unique_ptr<LoadedKernel> CpuDevice::load(const KernelBinary& binary) {
  if (binary.format != BinaryFormat::kElfSharedObject) {
    throw_error(FFPA_JIT_DEVICE_ERROR,
                "a kernel image for the CPU is an ELF shared object; this one ({}) is {}",
                binary.entry, name_of(binary.format));
  }
  return std::make_unique<CpuKernel>(binary.bytes, binary.entry);
}

std::unique_ptr<LoadedKernel> CpuDevice::wrap(HostKernel kernel) {
  return std::make_unique<CpuKernel>(std::move(kernel));
}

void CpuDevice::launch(const LoadedKernel& kernel, const LaunchGeometry& geometry,
                       std::span<const std::byte> params, Stream) {
  const HostKernel& function = static_cast<const CpuKernel&>(kernel).function();
  const Dim3 grid = geometry.grid;
  const uint64_t cells = uint64_t{grid.x} * grid.y * grid.z;
  pool_.run(cells, geometry.dynamic_shared_bytes, [&](uint64_t index, void* scratch) {
    const auto x = static_cast<unsigned>(index % grid.x);
    const uint64_t rest = index / grid.x;
    function(params.data(), x, static_cast<unsigned>(rest % grid.y),
             static_cast<unsigned>(rest / grid.y), scratch);
  });
}

void* CpuDevice::allocate(size_t bytes, Stream) {
  void* memory = allocate_aligned(bytes).release();
  if (!memory && bytes != 0) {
    throw_error(
        FFPA_JIT_OUT_OF_MEMORY,
        "{} bytes were asked of this machine's memory ({} in all); ask for less or free some",
        bytes, info_.memory_bytes);
  }
  return memory;
}

void CpuDevice::release(void* memory, Stream) noexcept { std::free(memory); }

void CpuDevice::copy_to_device(void* to, const void* from, size_t bytes, Stream) {
  if (bytes) std::memcpy(to, from, bytes);
}

void CpuDevice::copy_to_host(void* to, const void* from, size_t bytes, Stream) {
  if (bytes) std::memcpy(to, from, bytes);
}

void CpuDevice::fill(void* memory, uint8_t value, size_t bytes, Stream) {
  if (bytes) std::memset(memory, value, bytes);
}

double CpuDevice::time_ms(Stream, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::shared_ptr<Device> open_cpu_device(int num_threads, const std::optional<Target>& level) {
  return std::make_shared<CpuDevice>(num_threads, level);
}

}  // namespace ffpa_jit
