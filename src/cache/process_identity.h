// Which process holds a lease, in words that survive pid reuse, reboots and containers.
#pragma once

#include <cstdint>
#include <string>

namespace ffpa_jit {

struct ProcessIdentity {
  // Host name, boot and pid namespace: two processes with the same `host` see each other's pids.
  std::string host;
  int64_t pid = 0;
  int64_t started = 0;  // clock ticks since boot; 0 where /proc is not mounted
};

ProcessIdentity this_process();

// Whether the process runs, on this very host. A zombie does not; neither does a later process that
// got the same pid.
bool is_alive(int64_t pid, int64_t started);

}  // namespace ffpa_jit
