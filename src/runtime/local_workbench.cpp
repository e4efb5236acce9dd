#include "runtime/local_workbench.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/error.h"
#include "plan/shape_class.h"
#include "tune/output_comparison.h"

namespace ffpa_jit {
namespace {

constexpr size_t kComparedBytes = size_t{64}
                                  << 20;  // of an output: what is larger is compared in parts
constexpr size_t kPartBytes = size_t{1} << 20;
constexpr int kMaxLaunches = 64;
// More than any GPU's L2 cache holds. A host's next call has other tensors: a decode step reads its
// keys from memory, and must be measured so.
constexpr size_t kEvictorBytes = size_t{160} << 20;

int64_t reach(int64_t size, int64_t stride) { return size > 0 ? (size - 1) * stride : 0; }

size_t elements_of_o(const AttentionCall& call) {
  const Shape& s = call.shape;
  const ForwardParams& p = call.params;
  const bool packed = call.problem.layout == Layout::kVarlen;
  return static_cast<size_t>(
      reach(packed ? 1 : s.batch, p.o_stride_batch) + reach(s.heads_q, p.o_stride_head) +
      reach(packed ? s.total_q : s.seqlen_q, p.o_stride_row) + call.problem.head_dim_v);
}

size_t elements_of_lse(const AttentionCall& call) {
  const Shape& s = call.shape;
  const ForwardParams& p = call.params;
  const bool packed = call.problem.layout == Layout::kVarlen;
  return static_cast<size_t>(reach(packed ? 1 : s.batch, p.lse_stride_batch) +
                             reach(s.heads_q, p.lse_stride_head) +
                             (packed ? s.total_q : s.seqlen_q));
}

// Q, K, V and O, as far as their sizes say.
size_t bytes_of_tensors(const AttentionCall& call) {
  const Shape& s = call.shape;
  const Problem& p = call.problem;
  const int64_t rows_q =
      s.heads_q * (p.layout == Layout::kVarlen ? s.total_q : s.batch * s.seqlen_q);
  const int64_t rows_k =
      s.heads_kv * (p.layout == Layout::kVarlen ? s.total_k : s.batch * s.seqlen_k);
  return static_cast<size_t>((rows_q + rows_k) * (p.head_dim + p.head_dim_v)) * bytes_of(p.dtype);
}

}  // namespace

struct LocalWorkbench::Output {
  void* memory;
  size_t bytes;
  DType dtype;

  // Where the compared parts begin.
  std::vector<size_t> parts() const {
    if (bytes <= kComparedBytes) return {0};
    const size_t count = kComparedBytes / kPartBytes;
    std::vector<size_t> begins;
    for (size_t i = 0; i < count; ++i)
      begins.push_back((bytes - kPartBytes) / (count - 1) * i / 16 * 16);
    return begins;
  }
  size_t part_bytes() const { return bytes <= kComparedBytes ? bytes : kPartBytes; }
};

LocalWorkbench::LocalWorkbench(Runtime& runtime, const AttentionCall& call,
                               const KernelFamily& family, LocalWorkbenchOptions options)
    : runtime_(runtime),
      call_(call),
      family_(family),
      options_(options),
      device_(runtime.devices().open(call.device)) {
  const auto own = [&](auto*& pointer, size_t elements, DType dtype) {
    const size_t bytes = elements * bytes_of(dtype);
    void* memory = device_->allocate(bytes, call_.stream);
    outputs_.push_back({memory, bytes, dtype});
    for (MemoryRange& range : call_.ranges) {
      if (range.begin == pointer) range.begin = memory;
    }
    pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(memory);
  };
  try {
    own(call_.params.o, elements_of_o(call), call.problem.dtype);
    if (call.params.lse) own(call_.params.lse, elements_of_lse(call), DType::kFp32);
    if (call.device.kind == TargetKind::kCuda && bytes_of_tensors(call) < kEvictorBytes) {
      evictor_ = device_->allocate(kEvictorBytes, call_.stream);
    }
  } catch (...) {
    release();
    throw;
  }
  call_.workspace = nullptr;  // another config may need more than the caller's
  call_.workspace_bytes = 0;
}

LocalWorkbench::~LocalWorkbench() { release(); }

void LocalWorkbench::release() noexcept {
  for (const Output& output : outputs_) device_->release(output.memory, call_.stream);
  if (evictor_) device_->release(evictor_, call_.stream);
}

std::vector<Built> LocalWorkbench::build(std::span<const KernelConfig> configs) {
  if (first_.empty() && !configs.empty()) first_ = text_of(configs.front());
  std::vector<Built> built(configs.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < configs.size(); i = next++) built[i] = build_one(configs[i]);
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t threads =
      std::min(options_.jobs > 0 ? static_cast<size_t>(options_.jobs) : cores, configs.size());
  {
    std::vector<std::jthread> pool;
    for (size_t i = 1; i < threads; ++i) pool.emplace_back(work);
    work();
  }
  return built;
}

Built LocalWorkbench::build_one(const KernelConfig& config) {
  Built built;
  built.config = config;
  try {
    PlanRequest request;
    request.problem = call_.problem;
    request.shape = canonical_shape(call_.problem, call_.shape);
    request.device = device_->info();
    request.config = config;
    const PlannedAttention planned = runtime_.planner().plan_with(family_, request);
    built.cache_hit = true;
    for (size_t i = 0; i < planned.plan.steps.size(); ++i) {
      const PlanStep& step = planned.plan.steps[i];
      const LaunchGeometry geometry = step.geometry(call_.shape);
      BuiltStep out;
      out.threads = geometry.block.x * geometry.block.y * geometry.block.z;
      out.dynamic_shared_bytes = geometry.dynamic_shared_bytes;
      if (!step.builtin) {
        const ProvidedKernel provided = runtime_.kernels().find_or_compile(
            planned.sources[i],
            {planned.plan.family, text_of(call_.problem), text_of(planned.plan.config)});
        out.resources = provided.binary.resources;
        built.compile_ms += provided.compile_ms;
        built.cache_hit = built.cache_hit && provided.cache_hit;
      }
      built.steps.push_back(out);
    }
  } catch (const Error& error) {
    if (error.code() == FFPA_JIT_NO_COMPILER) throw;
    built.failure = error.what();
  }
  return built;
}

const PreparedPlan& LocalWorkbench::prepared(const KernelConfig& config) {
  std::shared_ptr<const PreparedPlan>& plan = prepared_[text_of(config)];
  if (!plan) plan = runtime_.prepare_config(call_, family_, config);
  return *plan;
}

std::vector<std::vector<std::byte>> LocalWorkbench::run(const KernelConfig& config) {
  const PreparedPlan& plan = prepared(config);
  // 0xff is NaN in every type: what is left unwritten differs. Gaps between rows stay so in all.
  for (const Output& output : outputs_)
    device_->fill(output.memory, 0xff, output.bytes, call_.stream);
  runtime_.launch(plan, call_);
  std::vector<std::vector<std::byte>> values;
  for (const Output& output : outputs_) {
    const std::vector<size_t> parts = output.parts();
    std::vector<std::byte>& value = values.emplace_back(parts.size() * output.part_bytes());
    for (size_t i = 0; i < parts.size(); ++i) {
      device_->copy_to_host(value.data() + i * output.part_bytes(),
                            static_cast<std::byte*>(output.memory) + parts[i], output.part_bytes(),
                            call_.stream);
    }
  }
  device_->synchronize(call_.stream);
  return values;
}

std::string LocalWorkbench::check(const KernelConfig& config) {
  if (first_.empty()) first_ = text_of(config);
  if (expected_.empty()) expected_ = run(parse_config(first_));
  if (text_of(config) == first_) return "";
  const std::vector<std::vector<std::byte>> got = run(config);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::string difference = compare_outputs(expected_[i], got[i], outputs_[i].dtype);
    if (!difference.empty()) return fmt::format("{}: {}", i == 0 ? "O" : "LSE", difference);
  }
  return "";
}

double LocalWorkbench::time_us(const KernelConfig& config) {
  const PreparedPlan& plan = prepared(config);
  const auto sample = [&](int launches) {
    if (!evictor_) {
      return 1000 / launches * device_->time_ms(call_.stream, [&] {
        for (int i = 0; i < launches; ++i) runtime_.launch(plan, call_);
      });
    }
    double ms = 0;
    for (int i = 0; i < launches; ++i) {
      device_->fill(evictor_, 0, kEvictorBytes, call_.stream);
      ms += device_->time_ms(call_.stream, [&] { runtime_.launch(plan, call_); });
    }
    return 1000 / launches * ms;
  };
  if (launches_ == 0) {  // the same for all configs, by the first one's time
    sample(1);
    launches_ = static_cast<int>(
        std::clamp(options_.sample_us / std::max(sample(1), 1e-3), 1.0, double{kMaxLaunches}));
  }
  return sample(launches_);
}

}  // namespace ffpa_jit
