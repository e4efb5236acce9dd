#include "runtime/runtime.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "codegen/template_loader.h"
#include "compile/source_places.h"
#include "plan/families/portable_cpu.h"
#include "plan/shape_class.h"
#include "runtime/tensor_facts.h"

namespace ffpa_jit {
namespace {

constexpr std::string_view kForcedUnavailableRule = "forced-family-unavailable";

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

PlanRequest plan_request(const AttentionCall& call, const Device& device, bool has_host_fallback) {
  PlanRequest request;
  request.problem = call.problem;
  request.shape = canonical_shape(call.problem, call.shape);
  request.device = device.info();
  request.tensors = tensor_facts(call);
  request.family = call.family;
  request.has_host_fallback = has_host_fallback;
  return request;
}

bool writes_nothing(const Shape& shape) {
  return shape.batch == 0 || shape.heads_q == 0 || shape.total_q == 0 || shape.seqlen_q == 0;
}

emulator::Options emulator_options(const RuntimeOptions& options) {
  emulator::Options out;
  out.num_threads = options.num_threads;
  out.schedule = options.environment.emulator_schedule;
  out.detect_races = options.environment.emulator_races;
  out.symbolizer = [plugin = options.environment.clang_plugin](std::span<const std::byte> image,
                                                               uint64_t address) {
    return source_place(plugin, image, address);
  };
  return out;
}

// Workspace for one launch: the caller's memory, or the device's stream-ordered pool.
class Workspace {
 public:
  Workspace(Device& device, const AttentionCall& call, size_t bytes)
      : device_(device), stream_(call.stream), memory_(call.workspace) {
    if (bytes == 0) {
      memory_ = nullptr;
    } else if (!memory_) {
      memory_ = device.allocate(bytes, stream_);
      owned_ = true;
    } else if (call.workspace_bytes < bytes) {
      throw_error(
          FFPA_JIT_INVALID_ARGUMENT,
          "workspace_bytes is {}; this call needs {} (ffpa_jit_plan_info.workspace_bytes), or "
          "leave workspace NULL to have it taken from the device's pool",
          call.workspace_bytes, bytes);
    }
  }
  ~Workspace() {
    if (owned_) device_.release(memory_, stream_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* memory() const { return memory_; }

 private:
  Device& device_;
  Stream stream_;
  void* memory_;
  bool owned_ = false;
};

// The struct a kernel takes: ForwardParams, then the tensor maps its step asks for.
class KernelParameter {
 public:
  KernelParameter(const ForwardParams& params, const PlanStep& step, const Shape& shape,
                  Device& device, TensorMapCache& cache) {
    std::memcpy(bytes_, &params, sizeof(params));
    if (!step.tensor_maps) return;
    const TensorMapSpecs specs = step.tensor_maps(params, shape);
    size_ = kMapsOffset + specs.count * sizeof(TensorMap);
    for (int i = 0; i < specs.count; ++i) {
      TensorMap map;
      cache.get(device, specs.spec[i], map);
      std::memcpy(bytes_ + kMapsOffset + i * sizeof(TensorMap), &map, sizeof(map));
    }
  }

  std::span<const std::byte> bytes() const { return {bytes_, size_}; }

 private:
  static constexpr size_t kMapsOffset = tensor_maps_offset(sizeof(ForwardParams));

  alignas(64) std::byte bytes_[kMapsOffset + kMaxTensorMaps * sizeof(TensorMap)];
  size_t size_ = sizeof(ForwardParams);
};

}  // namespace

std::string text_of(const DeviceRef& device) {
  switch (device.kind) {
    case TargetKind::kCpu:
      return "cpu";
    case TargetKind::kCuda:
      return fmt::format("cuda:{}", device.index);
    case TargetKind::kHip:
      return fmt::format("hip:{}", device.index);
    case TargetKind::kEmulator:
      return fmt::format("emu:sm_{}", device.index);
  }
  return "?";
}

Runtime::Runtime(RuntimeOptions options)
    : options_(std::move(options)),
      store_(Store::open(options_.store, options_.log)),
      compilers_(std::make_shared<CompilerSet>(
          options_.log, CompilerLibraries{.nvrtc = options_.environment.nvrtc,
                                          .clang_plugin = options_.environment.clang_plugin})),
      templates_(std::make_shared<codegen::TemplateEngine>(
          codegen::default_templates(options_.template_dir))),
      tuned_(std::make_shared<TunedConfigs>(
          store_,
          TunedConfigs::Options{.skip = options_.environment.skip_tuned,
                                .directory = options_.environment.tuned_config_dir},
          options_.log)),
      planner_(options_.environment, options_.policy, templates_, tuned_),
      kernels_(store_, compilers_, options_.store.match, options_.compile_time_limit, options_.log),
      devices_(options_.num_threads, options_.environment.cpu_level, emulator_options(options_)),
      record_(options_.environment.record, options_.log) {}

std::shared_ptr<const PreparedPlan> Runtime::prepare(const AttentionCall& call) {
  const DispatchKey key = dispatch_key(call);
  if (auto plan = plans_.find(key)) return plan;
  return plans_.get(key, [&] { return make_plan(call); });
}

void Runtime::forward(const AttentionCall& call) {
  const std::shared_ptr<const PreparedPlan> prepared = prepare(call);
  if (prepared->to_host_fallback) {
    const ffpa_jit_status status = options_.host_fallback(call.host_args, prepared->reason);
    if (status != FFPA_JIT_OK) {
      throw_error(status, "the host's fallback failed with status {} (it was called because {})",
                  static_cast<int>(status), prepared->reason);
    }
    return;
  }
  if (!writes_nothing(call.shape)) launch(*prepared, call);
}

std::shared_ptr<const PreparedPlan> Runtime::make_plan(const AttentionCall& call) {
  auto prepared = std::make_shared<PreparedPlan>();
  prepared->problem = call.problem;
  prepared->device = devices_.open(call.device);
  if (prepared->device->is_capturing(call.stream)) {
    throw_error(FFPA_JIT_NOT_PREPARED,
                "the stream is being captured and this problem has no loaded kernel yet: call "
                "ffpa_jit_attention_prepare (or run it once) before the capture; problem: {}",
                text_of(call.problem));
  }
  PlanRequest request = plan_request(call, *prepared->device, options_.host_fallback != nullptr);
  record_.add(call);
  if (options_.autotune) autotune(call, request);
  PlannedAttention planned = planner_.plan(request);
  prepared->rule = planned.route.rule;
  prepared->reason = planned.route.reason;
  if (planned.route.outcome == Outcome::kFallback) {
    prepared->to_host_fallback = true;
    options_.log->info("{}: {}", text_of(call.problem), prepared->reason);
    return prepared;
  }
  // Another family than was asked for: said aloud, once for each dispatch.
  if (prepared->rule == kForcedUnavailableRule) {
    options_.log->warn("{}: {}", text_of(call.problem), prepared->reason);
  }
  if (planned.tuned) {
    const KernelFamily& family = *planned.route.family;
    const std::string reason = fmt::format("{}; {}", prepared->reason, planned.tuned->reason());
    request.config = family.default_config(request.problem, request.shape, request.device);
    if (planned.tuned->config == *request.config) {  // tuned, and the default stayed
      prepared->reason = reason;
    } else if (load_tuned(std::move(planned), *prepared)) {
      prepared->reason = reason;
      return prepared;
    } else {
      planned = planner_.plan_with(family, request);
    }
  }
  try {
    load_steps(std::move(planned), *prepared);
  } catch (const Error& error) {
    // Only on the CPU, and only where nothing was forced, is there something else that computes the
    // same.
    const KernelFamily& portable = portable_cpu_family();
    if (error.code() != FFPA_JIT_NO_COMPILER || !call.family.empty() ||
        portable.refuses(call.problem, request.device.target)) {
      throw;
    }
    options_.log->warn("using the slower portable kernel: {}", error.what());
    prepared->rule = "no-compiler";
    prepared->reason =
        fmt::format("the kernel is not cached and cannot be compiled: {}", error.what());
    request.config.reset();
    load_steps(planner_.plan_with(portable, request), *prepared);
  }
  return prepared;
}

std::shared_ptr<const PreparedPlan> Runtime::prepare_config(const AttentionCall& call,
                                                            const KernelFamily& family,
                                                            const KernelConfig& config) {
  auto prepared = std::make_shared<PreparedPlan>();
  prepared->problem = call.problem;
  prepared->device = devices_.open(call.device);
  PlanRequest request = plan_request(call, *prepared->device, false);
  request.config = config;
  load_steps(planner_.plan_with(family, request), *prepared);
  return prepared;
}

bool Runtime::load_tuned(PlannedAttention planned, PreparedPlan& prepared) {
  const TunedConfig tuned = *planned.tuned;
  PreparedPlan attempt;
  attempt.problem = prepared.problem;
  attempt.device = prepared.device;
  try {
    load_steps(std::move(planned), attempt);
    if (attempt.spill_bytes > 0) {
      throw_error(FFPA_JIT_COMPILE_FAILED, "its threads spill {} bytes", attempt.spill_bytes);
    }
  } catch (const Error& error) {
    options_.log->warn("the tuned config '{}' for '{}' does not hold ({}); the default serves",
                       text_of(tuned.config), text_of(prepared.problem), error.what());
    return false;
  }
  attempt.rule = prepared.rule;
  prepared = std::move(attempt);
  if (tuned.other_version &&
      tuned.source == kCacheSource) {  // checked again: need not be next time
    Tuning row = tuned.tuning;
    row.library_version = library_version();
    tuned_->put(row);
  }
  return true;
}

void Runtime::load_steps(PlannedAttention planned, PreparedPlan& prepared) {
  prepared.generate_ms += planned.generate_ms;
  std::vector<std::unique_ptr<LoadedKernel>> kernels;
  for (size_t i = 0; i < planned.plan.steps.size(); ++i) {
    const PlanStep& step = planned.plan.steps[i];
    if (step.builtin) {
      kernels.push_back(prepared.device->wrap(step.builtin));
      continue;
    }
    const ProvidedKernel provided = kernels_.find_or_compile(
        planned.sources[i],
        {planned.plan.family, text_of(prepared.problem), text_of(planned.plan.config)});
    const Clock::time_point start = Clock::now();
    kernels.push_back(prepared.device->load(provided.binary));
    prepared.load_ms += milliseconds_since(start);
    prepared.compile_ms += provided.compile_ms;
    prepared.spill_bytes += std::max(provided.binary.resources.spill_bytes, 0);
    prepared.cache_hit = prepared.cache_hit && provided.cache_hit;
  }
  prepared.kernels = std::move(kernels);
  prepared.plan = std::move(planned.plan);
}

void Runtime::launch(const PreparedPlan& prepared, const AttentionCall& call) {
  const size_t bytes =
      prepared.plan.workspace_bytes ? prepared.plan.workspace_bytes(call.shape) : 0;
  const Workspace workspace(*prepared.device, call, bytes);
  ForwardParams params = call.params;
  params.workspace = workspace.memory();
  if (const size_t zeroed =
          prepared.plan.zeroed_bytes ? prepared.plan.zeroed_bytes(call.shape) : 0) {
    prepared.device->fill(workspace.memory(), 0, zeroed, call.stream);
  }
  for (size_t i = 0; i < prepared.plan.steps.size(); ++i) {
    const PlanStep& step = prepared.plan.steps[i];
    const LaunchGeometry geometry = step.geometry(call.shape);
    if (geometry.grid.x == 0 || geometry.grid.y == 0 || geometry.grid.z == 0) continue;
    const KernelParameter parameter(params, step, call.shape, *prepared.device, tensor_maps_);
    if (!prepared.device->checks_memory()) {
      prepared.device->launch(*prepared.kernels[i], geometry, parameter.bytes(), call.stream);
      continue;
    }
    std::vector<MemoryRange> ranges = call.ranges;
    if (workspace.memory()) ranges.push_back({"workspace", workspace.memory(), bytes, true});
    prepared.device->launch_checked(*prepared.kernels[i], geometry, parameter.bytes(), call.stream,
                                    ranges);
  }
}

}  // namespace ffpa_jit
