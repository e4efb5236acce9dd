// What a test sees and sets of the fake libcuda (fake_driver.cpp): calls made, contexts, failures
// to inject.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ffpa_jit::testing {

struct FakeDevice {
  std::string name = "Fake GPU";
  int major = 9, minor = 0;
  int multiprocessors = 132;
  int shared_bytes = 232448;
  int memory_khz = 3201000;
  bool pools = true;
};

// One process-wide state. A context is a small number: its device's ordinal + 1 is the primary one
// of the device, 100 + ordinal one that somebody made. A stream is a context's number * 1000 (+ 1
// when it captures).
struct FakeDriver {
  std::vector<FakeDevice> devices = {FakeDevice{}};
  std::vector<std::string> calls;   // by exported name, in order
  std::vector<uintptr_t> contexts;  // the stack of the calling thread; back() is current
  std::map<int, int> primary_retained;
  int live_allocations = 0, live_libraries = 0, live_modules = 0, live_events = 0, live_pools = 0;
  unsigned long long kept_bytes = 0;  // of the pool that was made last
  // The call numbered `fail_at` from now (1: the next) or any call named `fail_call` returns
  // `fail_with`.
  int fail_at = 0;
  std::string fail_call;
  int fail_with = 0;

  struct Launch {
    uintptr_t context = 0;
    unsigned grid[3] = {}, block[3] = {}, cluster[3] = {};
    unsigned shared_bytes = 0;
    uintptr_t stream = 0;
    std::string argument;  // the first 8 bytes
  };
  std::vector<Launch> launches;
  std::vector<std::pair<int, int>> attributes;  // set on a kernel: attribute, value

  int count(const std::string& call) const {
    int n = 0;
    for (const std::string& made : calls) n += made == call;
    return n;
  }
};

}  // namespace ffpa_jit::testing
