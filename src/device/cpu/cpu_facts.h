// What this process may use of this machine, read from the operating system. Called by CpuDevice.
#pragma once

#include <cstdint>
#include <string>

namespace ffpa_jit {

struct CpuFacts {
  std::string model_name;  // "AMD EPYC 9B14", or "CPU" where the system does not say
  int usable_threads = 1;  // affinity mask, capped by the cgroup's CPU quota
  int64_t l2_bytes = 0;    // of one core; 512 KiB where the system does not say
  int64_t memory_bytes = 0;
};

CpuFacts read_cpu_facts();

// The CPU quota of a cgroup in whole threads (rounded up); 0 = unlimited or unreadable. `root` is
// where the cgroup file systems are mounted ("/sys/fs/cgroup"), `membership` the text of
// /proc/self/cgroup. Every ancestor's limit counts.
int cgroup_cpu_limit(const std::string& root, const std::string& membership);

}  // namespace ffpa_jit
