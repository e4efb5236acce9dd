// C++20 facade over the C ABI, header-only: RAII, exceptions, std::function callbacks.
//
//   ffpa::Runtime runtime;
//   ffpa::Attention attention;
//   attention.q = ffpa::tensor(q, FFPA_JIT_BF16, {B, H, N, D});   // k, v, o likewise
//   attention.is_causal = true;
//   runtime.forward(attention);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "ffpa_jit/ffpa_jit.h"

namespace ffpa {

// Thrown by every member below that fails; what() is ffpa_jit_last_error().
class Error : public std::runtime_error {
 public:
  Error(ffpa_jit_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  ffpa_jit_status status() const noexcept { return status_; }

 private:
  ffpa_jit_status status_;
};

inline void check(ffpa_jit_status status) {
  if (status != FFPA_JIT_OK) throw Error(status, ffpa_jit_last_error());
}

// A view of the caller's memory. Without strides: row-major and packed. Throws
// std::invalid_argument for a rank above 4 or as many strides as sizes not given.
inline ffpa_jit_tensor tensor(const void* data, ffpa_jit_dtype dtype,
                              std::span<const int64_t> sizes,
                              std::span<const int64_t> strides = {}) {
  if (sizes.size() > 4) throw std::invalid_argument("ffpa::tensor: at most 4 dimensions");
  if (!strides.empty() && strides.size() != sizes.size()) {
    throw std::invalid_argument("ffpa::tensor: one stride per size");
  }
  ffpa_jit_tensor out{};
  out.data = const_cast<void*>(data);
  out.dtype = dtype;
  out.rank = static_cast<int32_t>(sizes.size());
  int64_t packed = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    out.sizes[i] = sizes[i];
    out.strides[i] = strides.empty() ? packed : strides[i];
    packed *= sizes[i];
  }
  return out;
}

inline ffpa_jit_tensor tensor(const void* data, ffpa_jit_dtype dtype,
                              std::initializer_list<int64_t> sizes,
                              std::initializer_list<int64_t> strides = {}) {
  return tensor(data, dtype, std::span<const int64_t>(sizes.begin(), sizes.size()),
                std::span<const int64_t>(strides.begin(), strides.size()));
}

// The C struct with its defaults in place.
struct Attention : ffpa_jit_attention_args {
  Attention() : ffpa_jit_attention_args(FFPA_JIT_ATTENTION_ARGS_INIT) {}
};

struct RuntimeOptions {
  std::optional<std::string> cache_dir;  // unset: from the environment, else the default
  std::optional<std::string> cache_path;
  std::optional<std::string> template_dir;
  ffpa_jit_policy policy = FFPA_JIT_POLICY_DEFAULT;
  int num_threads = 0;
  int compile_time_limit_ms = 0;
  std::optional<ffpa_jit_log_level> log_level;
  std::function<void(ffpa_jit_log_level, std::string_view)> log;  // empty: stderr
  std::function<ffpa_jit_status(const ffpa_jit_attention_args&, std::string_view reason)> fallback;
  ffpa_jit_autotune autotune = FFPA_JIT_AUTOTUNE_DEFAULT;
};

// A prepared plan. Must not outlive its Runtime.
class Plan {
 public:
  explicit Plan(ffpa_jit_plan* plan) : plan_(plan) {}
  ffpa_jit_plan_info info() const {
    ffpa_jit_plan_info info{};
    info.struct_size = sizeof(info);
    check(ffpa_jit_plan_get_info(plan_.get(), &info));
    return info;
  }

 private:
  struct Destroy {
    void operator()(ffpa_jit_plan* plan) const noexcept { ffpa_jit_plan_destroy(plan); }
  };
  std::unique_ptr<ffpa_jit_plan, Destroy> plan_;
};

// Movable; may be used from several threads at once.
class Runtime {
 public:
  explicit Runtime(RuntimeOptions options = {})
      : options_(std::make_unique<RuntimeOptions>(std::move(options))) {
    ffpa_jit_runtime_options c = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    const auto text = [](const std::optional<std::string>& s) { return s ? s->c_str() : nullptr; };
    c.cache_dir = text(options_->cache_dir);
    c.cache_path = text(options_->cache_path);
    c.template_dir = text(options_->template_dir);
    c.policy = options_->policy;
    c.autotune = options_->autotune;
    c.num_threads = options_->num_threads;
    c.compile_time_limit_ms = options_->compile_time_limit_ms;
    c.has_log_level = options_->log_level.has_value();
    c.log_level = options_->log_level.value_or(FFPA_JIT_LOG_WARNING);
    if (options_->log) {
      c.log_callback = &Runtime::log;
      c.log_user = options_.get();
    }
    if (options_->fallback) {
      c.fallback = &Runtime::fall_back;
      c.fallback_user = options_.get();
    }
    ffpa_jit_runtime* runtime = nullptr;
    check(ffpa_jit_runtime_create(&c, &runtime));
    runtime_.reset(runtime);
  }

  void forward(const ffpa_jit_attention_args& attention) {
    check(ffpa_jit_attention_forward(runtime_.get(), &attention));
  }

  Plan prepare(const ffpa_jit_attention_args& attention) {
    ffpa_jit_plan* plan = nullptr;
    check(ffpa_jit_attention_prepare(runtime_.get(), &attention, &plan));
    return Plan(plan);
  }

  ffpa_jit_runtime* get() const noexcept { return runtime_.get(); }

 private:
  // A C callback must not throw: what the host's function throws ends here.
  static void log(void* user, ffpa_jit_log_level level, const char* message) noexcept {
    try {
      static_cast<RuntimeOptions*>(user)->log(level, message);
    } catch (...) {
    }
  }
  static ffpa_jit_status fall_back(void* user, const ffpa_jit_attention_args* args,
                                   const char* reason) noexcept {
    try {
      return static_cast<RuntimeOptions*>(user)->fallback(*args, reason);
    } catch (...) {
      return FFPA_JIT_INTERNAL;
    }
  }

  struct Destroy {
    void operator()(ffpa_jit_runtime* runtime) const noexcept { ffpa_jit_runtime_destroy(runtime); }
  };
  std::unique_ptr<RuntimeOptions> options_;  // the callbacks' user pointer: must not move
  std::unique_ptr<ffpa_jit_runtime, Destroy> runtime_;
};

}  // namespace ffpa
