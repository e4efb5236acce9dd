// ffpa_jit_attention_* and ffpa_jit_plan_*.
#include <cstddef>

#include "api/attention_args.h"
#include "api/boundary.h"
#include "api/handles.h"

namespace ffpa_jit::api {
namespace {

constexpr size_t kOldestArgs = offsetof(ffpa_jit_attention_args, score_modifier);
constexpr size_t kOldestPlanInfo = sizeof(ffpa_jit_plan_info);

// Calls `body` with the caller's struct if it is of this version, else with a converted copy.
template <typename Body>
void with_args(const ffpa_jit_runtime* runtime, const ffpa_jit_attention_args* args, Body&& body) {
  if (!runtime) throw_error(FFPA_JIT_INVALID_ARGUMENT, "runtime is NULL");
  if (args && args->struct_size == sizeof(*args)) return body(*args);
  const ffpa_jit_attention_args defaults = FFPA_JIT_ATTENTION_ARGS_INIT;
  body(versioned(args, kOldestArgs, "ffpa_jit_attention_args", defaults));
}

ffpa_jit_plan* make_plan(std::shared_ptr<const PreparedPlan> prepared, const AttentionCall& call) {
  auto plan = std::make_unique<ffpa_jit_plan>();
  if (prepared->plan.workspace_bytes) {
    plan->workspace_bytes = prepared->plan.workspace_bytes(call.shape);
  }
  plan->device = text_of(call.device);
  plan->target = text_of(prepared->device->info().target);
  plan->family = prepared->to_host_fallback ? "fallback" : prepared->plan.family;
  plan->route = prepared->rule;
  plan->config = text_of(prepared->plan.config);
  plan->problem = text_of(prepared->problem);
  plan->prepared = std::move(prepared);
  return plan.release();
}

}  // namespace
}  // namespace ffpa_jit::api

extern "C" {

FFPA_JIT_API ffpa_jit_status ffpa_jit_attention_forward(
    ffpa_jit_runtime* runtime, const ffpa_jit_attention_args* args) noexcept {
  using namespace ffpa_jit::api;
  return guarded([&] {
    with_args(runtime, args, [&](const ffpa_jit_attention_args& full) {
      runtime->runtime.forward(checked_call(full, Purpose::kLaunch));
    });
  });
}

FFPA_JIT_API ffpa_jit_status ffpa_jit_attention_prepare(ffpa_jit_runtime* runtime,
                                                        const ffpa_jit_attention_args* args,
                                                        ffpa_jit_plan** out) noexcept {
  using namespace ffpa_jit::api;
  return guarded([&] {
    if (!out) ffpa_jit::throw_error(FFPA_JIT_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    with_args(runtime, args, [&](const ffpa_jit_attention_args& full) {
      const ffpa_jit::AttentionCall call = checked_call(full, Purpose::kPrepare);
      *out = make_plan(runtime->runtime.prepare(call), call);
    });
  });
}

FFPA_JIT_API ffpa_jit_status ffpa_jit_plan_get_info(const ffpa_jit_plan* plan,
                                                    ffpa_jit_plan_info* info) noexcept {
  using namespace ffpa_jit::api;
  return guarded([&] {
    if (!plan) ffpa_jit::throw_error(FFPA_JIT_INVALID_ARGUMENT, "plan is NULL");
    const ffpa_jit_plan_info nothing{};
    const size_t size = versioned(info, kOldestPlanInfo, "ffpa_jit_plan_info", nothing).struct_size;
    const ffpa_jit::PreparedPlan& prepared = *plan->prepared;
    ffpa_jit_plan_info full{};
    full.struct_size = size;
    full.device = plan->device.c_str();
    full.target = plan->target.c_str();
    full.family = plan->family.c_str();
    full.route = plan->route.c_str();
    full.reason = prepared.reason.c_str();
    full.config = plan->config.c_str();
    full.problem = plan->problem.c_str();
    full.cache_hit = prepared.cache_hit;
    full.workspace_bytes = plan->workspace_bytes;
    full.generate_ms = prepared.generate_ms;
    full.compile_ms = prepared.compile_ms;
    full.load_ms = prepared.load_ms;
    std::memcpy(info, &full, size < sizeof(full) ? size : sizeof(full));
  });
}

FFPA_JIT_API void ffpa_jit_plan_destroy(ffpa_jit_plan* plan) noexcept { delete plan; }

}  // extern "C"
