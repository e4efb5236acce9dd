#include "device/cpu/cpu_facts.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

namespace ffpa_jit {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "CPU";
}

int affinity_count() {
  // A fixed cpu_set_t is too small on machines with more than 1024 processors: grow until it fits.
  for (size_t words = 16; words <= 4096; words *= 2) {
    std::vector<unsigned long> mask(words);
    const size_t bytes = words * sizeof(unsigned long);
    auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (::sched_getaffinity(0, bytes, set) == 0) return CPU_COUNT_S(bytes, set);
    if (errno != EINVAL) break;
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// "100000 100000" or "max 100000" (version 2), or two files of one number each (version 1, -1 =
// none).
int threads_of(const std::string& quota, const std::string& period) {
  try {
    const double q = std::stod(quota), p = std::stod(period);
    return q > 0 && p > 0 ? std::max(1, static_cast<int>(std::ceil(q / p))) : 0;
  } catch (const std::exception&) {
    return 0;  // "max", or no such file
  }
}

int64_t l2_bytes() {
  const std::string root = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int index = 0; index < 8; ++index) {
    const std::string entry = root + std::to_string(index);
    if (!read_text(entry + "/level").starts_with("2")) continue;
    std::istringstream size(read_text(entry + "/size"));  // "1024K"
    int64_t number = 0;
    char unit = 0;
    if (size >> number && number > 0) {
      size >> unit;
      return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
    }
  }
  const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : 512 << 10;
}

}  // namespace

int cgroup_cpu_limit(const std::string& root, const std::string& membership) {
  int limit = 0;
  const auto tighten = [&](int threads) {
    if (threads > 0) limit = limit > 0 ? std::min(limit, threads) : threads;
  };
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // "0::/path", "4:cpu,cpuacct:/path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const bool version2 = controllers == ",,";
    if (!version2 && controllers.find(",cpu,") == std::string::npos) continue;

    std::filesystem::path path = std::filesystem::path(line.substr(second + 1)).relative_path();
    const std::filesystem::path mount = version2 ? root : root + "/cpu";
    while (true) {
      const std::string group = (mount / path).string();
      if (version2) {
        std::istringstream text(read_text(group + "/cpu.max"));
        std::string quota, period;
        text >> quota >> period;
        tighten(threads_of(quota, period));
      } else {
        tighten(threads_of(read_text(group + "/cpu.cfs_quota_us"),
                           read_text(group + "/cpu.cfs_period_us")));
      }
      if (path.empty()) break;
      path = path.parent_path();
    }
  }
  return limit;
}

CpuFacts read_cpu_facts() {
  CpuFacts facts;
  facts.model_name = model_name();
  facts.usable_threads = affinity_count();
  const int limit = cgroup_cpu_limit("/sys/fs/cgroup", read_text("/proc/self/cgroup"));
  if (limit > 0) facts.usable_threads = std::min(facts.usable_threads, limit);
  facts.usable_threads = std::max(1, facts.usable_threads);
  facts.l2_bytes = l2_bytes();
  facts.memory_bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return facts;
}

}  // namespace ffpa_jit
