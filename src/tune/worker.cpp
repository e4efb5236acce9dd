#include "tune/worker.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace ffpa_jit {
namespace {

using Json = WorkerJson;

// ---- what passes between the two sides ----

Json json_of(const DeviceInfo& d) {
  return {{"name", d.name},
          {"text", d.text},
          {"identity", d.identity},
          {"target", text_of(d.target)},
          {"multiprocessors", d.multiprocessors},
          {"shared_bytes_per_block", d.shared_bytes_per_block},
          {"memory_bytes", d.memory_bytes},
          {"warp_size", d.warp_size},
          {"driver_version", d.driver_version}};
}

DeviceInfo device_of(const Json& json) {
  DeviceInfo d;
  d.name = json.at("name");
  d.text = json.at("text");
  d.identity = json.at("identity");
  d.target = parse_target(json.at("target").get<std::string>());
  d.multiprocessors = json.at("multiprocessors");
  d.shared_bytes_per_block = json.at("shared_bytes_per_block");
  d.memory_bytes = json.at("memory_bytes");
  d.warp_size = json.at("warp_size");
  d.driver_version = json.at("driver_version");
  return d;
}

Json json_of(const Built& built) {
  Json steps = Json::array();
  for (const BuiltStep& step : built.steps) {
    steps.push_back({{"resources", text_of(step.resources)},
                     {"threads", step.threads},
                     {"dynamic_shared_bytes", step.dynamic_shared_bytes}});
  }
  return {{"config", text_of(built.config)},
          {"failure", built.failure},
          {"steps", std::move(steps)},
          {"compile_ms", built.compile_ms},
          {"cache_hit", built.cache_hit}};
}

Built built_of(const Json& json) {
  Built built;
  built.config = parse_config(json.at("config").get<std::string>());
  built.failure = json.at("failure");
  for (const Json& each : json.at("steps")) {
    BuiltStep step;
    step.resources = parse_resources(each.at("resources").get<std::string>());
    step.threads = each.at("threads");
    step.dynamic_shared_bytes = each.at("dynamic_shared_bytes");
    built.steps.push_back(step);
  }
  built.compile_ms = json.at("compile_ms");
  built.cache_hit = json.at("cache_hit");
  return built;
}

Json failure(ffpa_jit_status status, const std::string& message) {
  return {{"error", {{"status", static_cast<int>(status)}, {"message", message}}}};
}

// One line from the channel; nullopt at its end.
std::optional<std::string> read_line(int channel, std::string& received) {
  while (true) {
    if (const size_t end = received.find('\n'); end != std::string::npos) {
      std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t n = ::read(channel, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    received.append(buffer, static_cast<size_t>(n));
  }
}

bool write_line(int channel, const Json& answer) {
  const std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(channel, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

Json answer(const Json& request, std::unique_ptr<Workbench>& bench,
            const std::function<std::unique_ptr<Workbench>(const Json&)>& open) {
  const std::string what = request.at("do");
  if (what == "open") {
    bench.reset();
    bench = open(request.at("task"));
    return {{"device", json_of(bench->device())}};
  }
  if (!bench)
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "a worker was asked to '{}' before a task was opened",
                what);
  if (what == "build") {
    std::vector<KernelConfig> configs;
    for (const Json& text : request.at("configs"))
      configs.push_back(parse_config(text.get<std::string>()));
    Json built = Json::array();
    for (const Built& each : bench->build(configs)) built.push_back(json_of(each));
    return {{"built", std::move(built)}};
  }
  const KernelConfig config = parse_config(request.at("config").get<std::string>());
  if (what == "check") return {{"difference", bench->check(config)}};
  if (what == "time") return {{"us", bench->time_us(config)}};
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "a worker cannot '{}'; allowed: open, build, check, time",
              what);
}

}  // namespace

int serve_worker(int channel, const std::function<std::unique_ptr<Workbench>(const Json&)>& open) {
  std::unique_ptr<Workbench> bench;
  std::string received;
  while (const std::optional<std::string> line = read_line(channel, received)) {
    Json reply;
    try {
      reply = answer(Json::parse(*line), bench, open);
    } catch (const Error& error) {
      reply = failure(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      reply = failure(FFPA_JIT_OUT_OF_MEMORY, "a worker process is out of memory");
    } catch (const std::exception& error) {
      reply = failure(FFPA_JIT_INTERNAL, error.what());
    }
    if (!write_line(channel, reply)) break;
  }
  return 0;
}

RemoteWorkbench::RemoteWorkbench(std::vector<std::string> argv, Json task, WorkerLimits limits)
    : argv_(std::move(argv)), task_(std::move(task)), limits_(limits) {
  child_ = std::make_unique<ChildProcess>(argv_);
  open();
}

void RemoteWorkbench::reopen(Json task) {
  task_ = std::move(task);
  first_.reset();
  restarts_ = 0;
  if (!child_) child_ = std::make_unique<ChildProcess>(argv_);
  open();
}

void RemoteWorkbench::start() {
  if (++restarts_ > limits_.restarts) {
    throw_error(FFPA_JIT_DEVICE_ERROR, "the worker process of one problem died {} times",
                restarts_);
  }
  child_ = std::make_unique<ChildProcess>(argv_);
  open();
}

void RemoteWorkbench::open() {
  device_ = device_of(ask_child({{"do", "open"}, {"task", task_}}, limits_.open).at("device"));
  if (first_)
    ask_child({{"do", "build"}, {"configs", Json::array({text_of(*first_)})}}, limits_.build);
}

Json RemoteWorkbench::ask_child(const Json& request, std::chrono::milliseconds limit) {
  Json reply;
  try {
    child_->send_line(request.dump());
    reply = Json::parse(child_->receive_line(limit));
  } catch (const ChildLost& lost) {
    child_.reset();
    throw_error(FFPA_JIT_DEVICE_ERROR, "the worker process {}", lost.what());
  } catch (const Json::exception& error) {
    child_.reset();
    throw_error(FFPA_JIT_INTERNAL, "the worker process answered no JSON: {}", error.what());
  }
  const auto error = reply.find("error");
  if (error == reply.end()) return reply;
  const auto status = static_cast<ffpa_jit_status>(error->at("status").get<int>());
  // A device that failed once may fail all that follows: on CUDA an illegal access ends the
  // context.
  if (status == FFPA_JIT_DEVICE_ERROR) child_.reset();
  throw Error(status, error->at("message").get<std::string>());
}

Json RemoteWorkbench::ask(const Json& request, std::chrono::milliseconds limit) {
  if (!child_) start();
  return ask_child(request, limit);
}

std::vector<Built> RemoteWorkbench::build(std::span<const KernelConfig> configs) {
  if (configs.empty()) return {};
  Json texts = Json::array();
  for (const KernelConfig& config : configs) texts.push_back(text_of(config));
  std::vector<Built> all;
  try {
    const auto limit = limits_.build * (1 + static_cast<int>(configs.size()));
    const Json reply = ask({{"do", "build"}, {"configs", texts}}, limit);
    for (const Json& each : reply.at("built")) all.push_back(built_of(each));
  } catch (const Error& error) {
    if (child_) throw;  // not the worker's death
    if (configs.size() == 1) {
      Built dead;
      dead.config = configs.front();
      dead.failure = error.what();
      return {dead};
    }
    // One of them took the compiler down: alone, each has only itself to harm.
    for (const KernelConfig& config : configs) all.push_back(build(std::span(&config, 1)).front());
  }
  if (!first_ && all.front().failure.empty()) first_ = configs.front();
  return all;
}

std::string RemoteWorkbench::check(const KernelConfig& config) {
  return ask({{"do", "check"}, {"config", text_of(config)}}, limits_.run).at("difference");
}

double RemoteWorkbench::time_us(const KernelConfig& config) {
  return ask({{"do", "time"}, {"config", text_of(config)}}, limits_.run).at("us");
}

}  // namespace ffpa_jit
