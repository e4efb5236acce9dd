#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <mutex>
#include <utility>

namespace ffpa_jit {
namespace {

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallbackSink(LogCallback callback) : callback_(std::move(callback)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& msg) override {
    try {
      callback_(msg.level, std::string_view(msg.payload.data(), msg.payload.size()));
    } catch (...) {  // a host's logger must not be able to break a call into the library
    }
  }
  void flush_() override {}

 private:
  LogCallback callback_;
};

}  // namespace

Logger make_logger(spdlog::level::level_enum level, LogCallback callback) {
  spdlog::sink_ptr sink;
  if (callback) {
    sink = std::make_shared<CallbackSink>(std::move(callback));
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_pattern("ffpa_jit %l: %v");
  }
  auto logger = std::make_shared<spdlog::logger>("ffpa_jit", std::move(sink));
  logger->set_level(level);
  return logger;
}

Logger null_logger() {
  auto logger =
      std::make_shared<spdlog::logger>("ffpa_jit", std::make_shared<spdlog::sinks::null_sink_mt>());
  logger->set_level(spdlog::level::off);
  return logger;
}

}  // namespace ffpa_jit
