// Logging: spdlog inside, one callback outside. Every component is handed the logger of its
// Runtime; there is no global logger.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>
#include <string_view>

namespace ffpa_jit {

using Logger = std::shared_ptr<spdlog::logger>;
using LogCallback = std::function<void(spdlog::level::level_enum, std::string_view message)>;

// Lines go to `callback`, or to stderr when it is empty. An exception thrown by the callback is
// swallowed.
Logger make_logger(spdlog::level::level_enum level, LogCallback callback = {});

// A logger that drops everything, for tests and for components used alone.
Logger null_logger();

}  // namespace ffpa_jit
