#include "device/emulator/emulated_device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "device/cpu/aligned_memory.h"
#include "device/cpu/cpu_facts.h"
#include "device/cpu/thread_pool.h"
#include "device/cuda/cuda_target.h"
#include "device/emulator/emulated_kernel.h"
#include "device/emulator/failure_text.h"
#include "device/emulator/tensor_copy.h"
#include "device/emulator/worker.h"

namespace ffpa_jit {
namespace {

using namespace emulator;

// What plans are made by: of a typical device of each capability. Shared memory per block is the
// opt-in limit (CUDA C++ Programming Guide, "Compute Capabilities").
struct Model {
  int capability, multiprocessors, shared_kib;
};
constexpr Model kModels[] = {{75, 40, 64},    {80, 108, 163}, {86, 82, 99},   {87, 16, 163},
                             {88, 16, 163},   {89, 128, 99},  {90, 132, 227}, {100, 148, 227},
                             {103, 148, 227}, {110, 20, 227}, {120, 170, 99}, {121, 48, 99}};

DeviceInfo make_info(int capability) {
  const auto* model = std::find_if(std::begin(kModels), std::end(kModels),
                                   [&](const Model& m) { return m.capability == capability; });
  if (model == std::end(kModels)) {
    std::string known;
    for (const Model& m : kModels) known += fmt::format(" {}", m.capability);
    throw_error(FFPA_JIT_UNSUPPORTED,
                "the emulator was asked for compute capability {}; allowed:{}", capability, known);
  }
  DeviceInfo info;
  info.name = fmt::format("emulated sm_{}", capability);
  info.text = fmt::format("emu:sm_{}", capability);
  info.identity = info.name;
  info.target = {TargetKind::kEmulator, cuda_target(capability / 10, capability % 10).arch};
  info.multiprocessors = model->multiprocessors;
  info.shared_bytes_per_block = int64_t{model->shared_kib} << 10;
  info.memory_bytes = read_cpu_facts().memory_bytes;
  info.warp_size = kWarpSize;
  return info;
}

FfpaEmuIndex index_of(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

class EmulatedDevice final : public Device {
 public:
  EmulatedDevice(int capability, Options options)
      : info_(make_info(capability)),
        options_(std::move(options)),
        pool_(options_.num_threads > 0 ? options_.num_threads : read_cpu_facts().usable_threads) {}

  const DeviceInfo& info() const override { return info_; }

  std::unique_ptr<LoadedKernel> load(const KernelBinary& binary) override {
    if (binary.format != BinaryFormat::kElfSharedObject) {
      throw_error(FFPA_JIT_DEVICE_ERROR,
                  "emulator: a kernel image is an ELF shared object; this one ({}) is {}",
                  binary.entry, name_of(binary.format));
    }
    return std::make_unique<EmulatedKernel>(binary);
  }

  void launch(const LoadedKernel& kernel, const LaunchGeometry& geometry,
              std::span<const std::byte> params, Stream stream) override {
    launch_checked(kernel, geometry, params, stream, {});
  }

  void launch_checked(const LoadedKernel& kernel, const LaunchGeometry& geometry,
                      std::span<const std::byte> params, Stream,
                      std::span<const MemoryRange> ranges) override {
    const auto* emulated = dynamic_cast<const EmulatedKernel*>(&kernel);
    if (!emulated)
      throw_error(FFPA_JIT_INTERNAL, "a kernel of another device was launched on {}", info_.text);
    check_geometry(*emulated, geometry);
    MemoryRanges allowed;
    for (const MemoryRange& range : ranges) allowed.add(range);
    if (ranges.empty()) add_allocations(allowed);
    // A copy at an alignment that any parameter type may ask for.
    const std::unique_ptr<void, FreeMemory> copy =
        allocate_aligned(std::max<size_t>(params.size(), 1));
    if (!copy)
      throw_error(FFPA_JIT_OUT_OF_MEMORY, "emulator: no memory for {} bytes of kernel parameters",
                  params.size());
    std::memcpy(copy.get(), params.data(), params.size());

    Launch launch;
    launch.grid = index_of(geometry.grid);
    launch.block = index_of(geometry.block);
    launch.cluster = index_of(geometry.cluster);
    launch.dynamic_shared_bytes = geometry.dynamic_shared_bytes;
    launch.params = copy.get();
    launch.ranges = &allowed;
    launch.schedule = options_.schedule;
    launch.detect_races = options_.detect_races;
    emulated->describe(launch);
    run(*emulated, launch);
  }

  TensorMap encode_tensor_map(const TensorMapSpec& spec) override {
    if (info_.target.compute_capability() < 90) return Device::encode_tensor_map(spec);
    return emulator::encode(spec);
  }

  bool checks_memory() const override { return true; }
  bool is_capturing(Stream) override { return false; }

  void* allocate(size_t bytes, Stream) override {
    if (bytes == 0) return nullptr;
    // A gap behind, so that neighbours are not mistaken for each other.
    constexpr size_t kGap = 256;
    void* memory = nullptr;
    if (bytes > PTRDIFF_MAX - kGap || ::posix_memalign(&memory, 256, bytes + kGap) != 0) {
      throw_error(FFPA_JIT_OUT_OF_MEMORY, "{} bytes were asked of {}; ask for less or free some",
                  bytes, info_.text);
    }
    const std::lock_guard lock(mutex_);
    allocations_[memory] = bytes;
    return memory;
  }

  void release(void* memory, Stream) noexcept override {
    if (!memory) return;
    {
      const std::lock_guard lock(mutex_);
      allocations_.erase(memory);
    }
    std::free(memory);
  }

  void copy_to_device(void* to, const void* from, size_t bytes, Stream) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes, Stream) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  void fill(void* memory, uint8_t value, size_t bytes, Stream) override {
    if (bytes) std::memset(memory, value, bytes);
  }
  void synchronize(Stream) override {}

  double time_ms(Stream, const std::function<void()>& work) override {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }

 private:
  // What a driver refuses.
  void check_geometry(const EmulatedKernel& kernel, const LaunchGeometry& geometry) const {
    const auto refuse = [&](std::string_view what) {
      throw_error(FFPA_JIT_DEVICE_ERROR, "emulator: {} on {}: {}", kernel.entry(), info_.text,
                  what);
    };
    const uint64_t threads = uint64_t{geometry.block.x} * geometry.block.y * geometry.block.z;
    if (threads == 0 || threads > kMaxThreads)
      refuse(fmt::format("blocks of {} threads; allowed: 1 to {}", threads, kMaxThreads));
    const int64_t shared = int64_t{geometry.dynamic_shared_bytes} + kernel.static_shared_bytes();
    if (shared > info_.shared_bytes_per_block) {
      refuse(
          fmt::format("{} bytes of dynamic and {} of static shared memory; a block has {} at most",
                      geometry.dynamic_shared_bytes, kernel.static_shared_bytes(),
                      info_.shared_bytes_per_block));
    }
    const Dim3 &grid = geometry.grid, &cluster = geometry.cluster;
    if (grid.y > 65535 || grid.z > 65535)
      refuse(
          fmt::format("a grid of {} x {} x {}; y and z are at most 65535", grid.x, grid.y, grid.z));
    const uint64_t blocks = uint64_t{cluster.x} * cluster.y * cluster.z;
    if (blocks == 0 || blocks > 16 || grid.x % cluster.x || grid.y % cluster.y ||
        grid.z % cluster.z) {
      refuse(
          fmt::format("clusters of {} x {} x {} in a grid of {} x {} x {}; at most 16 blocks, and "
                      "each grid dimension a multiple",
                      cluster.x, cluster.y, cluster.z, grid.x, grid.y, grid.z));
    }
    if (options_.detect_races &&
        blocks * ((threads + kWarpSize - 1) / kWarpSize) > Clocks::kMaxActors) {
      refuse(fmt::format(
          "clusters of {} blocks of {} threads; races are looked for in at most {} warps: set "
          "FFPA_JIT_EMULATOR_RACES=0",
          blocks, threads, Clocks::kMaxActors));
    }
    if (blocks > 1 && info_.target.compute_capability() < 90)
      refuse("launches in clusters need sm_90 or later");
  }

  void add_allocations(MemoryRanges& ranges) {
    const std::lock_guard lock(mutex_);
    for (const auto& [memory, bytes] : allocations_) {
      const std::string name = fmt::format("the allocation at {}", fmt::ptr(memory));
      ranges.add({name, memory, bytes, true});
    }
  }

  // The failure of the first cluster in grid order that failed, whichever worker met one first.
  void run(const EmulatedKernel& kernel, const Launch& launch) {
    const uint64_t clusters = uint64_t{launch.grid.x / launch.cluster.x} *
                              (launch.grid.y / launch.cluster.y) *
                              (launch.grid.z / launch.cluster.z);
    std::mutex mutex;
    std::atomic<uint64_t> first_failed{UINT64_MAX};
    Failure failure;
    pool_.run(clusters, 0, [&](uint64_t index, void*) {
      if (index > first_failed.load(std::memory_order_relaxed)) return;
      std::unique_ptr<Worker> worker = take_worker();
      if (!worker->run(launch, index)) {
        const std::lock_guard lock(mutex);
        if (index < first_failed) {
          first_failed = index;
          failure = worker->failure();
        }
      }
      return_worker(std::move(worker));
    });
    if (first_failed == UINT64_MAX) return;
    if (failure.out_of_memory)
      throw_error(FFPA_JIT_OUT_OF_MEMORY, "emulator: no memory left while running {}",
                  kernel.entry());
    throw Error(FFPA_JIT_DEVICE_ERROR, failure_text(failure, kernel, options_.symbolizer));
  }

  std::unique_ptr<Worker> take_worker() {
    const std::lock_guard lock(mutex_);
    if (workers_.empty()) return std::make_unique<Worker>();
    std::unique_ptr<Worker> worker = std::move(workers_.back());
    workers_.pop_back();
    return worker;
  }
  void return_worker(std::unique_ptr<Worker> worker) {
    const std::lock_guard lock(mutex_);
    workers_.push_back(std::move(worker));
  }

  DeviceInfo info_;
  Options options_;
  ThreadPool pool_;
  std::mutex mutex_;
  std::map<void*, size_t> allocations_;
  std::vector<std::unique_ptr<Worker>> workers_;  // idle ones
};

}  // namespace

std::shared_ptr<Device> open_emulated_cuda_device(int capability, emulator::Options options) {
  return std::make_shared<EmulatedDevice>(capability, std::move(options));
}

}  // namespace ffpa_jit
