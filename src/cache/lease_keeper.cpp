#include "cache/lease_keeper.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

namespace ffpa_jit {

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LeaseKeeper::add(int64_t token) {
  const std::lock_guard lock(mutex_);
  tokens_.push_back(token);
  if (!thread_.joinable()) {
    // The host's signal handlers are not to run on a library's thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // no more threads: the lease lasts for its first duration
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  changed_.notify_all();
}

void LeaseKeeper::remove(int64_t token) {
  const std::lock_guard lock(mutex_);
  tokens_.erase(std::remove(tokens_.begin(), tokens_.end(), token), tokens_.end());
}

void LeaseKeeper::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (tokens_.empty()) {
      changed_.wait(lock);
      continue;
    }
    if (changed_.wait_for(lock, interval_, [this] { return stopping_; })) return;
    const std::vector<int64_t> tokens = tokens_;
    if (tokens.empty()) continue;
    lock.unlock();
    renew_(tokens);
    lock.lock();
  }
}

}  // namespace ffpa_jit
