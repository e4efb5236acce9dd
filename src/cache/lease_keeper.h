// Renews the leases this process holds, from one thread that starts with the first lease and sleeps
// between renewals. After a fork the child leaks its copy: the thread is not there and its locks
// may be in any state.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ffpa_jit {

class LeaseKeeper {
 public:
  // `renew` is called with no lock held.
  using Renew = std::function<void(const std::vector<int64_t>& tokens)>;
  LeaseKeeper(std::chrono::milliseconds interval, Renew renew)
      : interval_(interval), renew_(std::move(renew)) {}
  ~LeaseKeeper();

  void add(int64_t token);
  void remove(int64_t token);

 private:
  void run();

  const std::chrono::milliseconds interval_;
  const Renew renew_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int64_t> tokens_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ffpa_jit
