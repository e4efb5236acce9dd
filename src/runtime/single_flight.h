// SingleFlight: a map from key to the result of one computation. Threads that ask for the same key
// while it is being computed wait for that computation; a failure reaches all of them and is
// forgotten.
#pragma once

#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace ffpa_jit {

template <typename Key, typename Value, typename Hash>
class SingleFlight {
 public:
  using Result = std::shared_ptr<const Value>;

  // The finished value, or nullptr. Never waits for a computation.
  Result find(const Key& key) const {
    std::shared_lock lock(mutex_);
    const auto it = finished_.find(key);
    return it == finished_.end() ? nullptr : it->second;
  }

  // `make` runs at most once per key at a time, without any lock held.
  template <typename Make>
  Result get(const Key& key, Make&& make) {
    std::promise<Result> promise;
    {
      std::unique_lock lock(mutex_);
      if (const auto done = finished_.find(key); done != finished_.end()) return done->second;
      const auto [it, first] = pending_.try_emplace(key);
      if (!first) {
        const std::shared_future<Result> other = it->second;
        lock.unlock();
        return other.get();
      }
      it->second = promise.get_future().share();
    }
    try {
      Result value = make();
      {
        std::unique_lock lock(mutex_);
        finished_.insert_or_assign(key, value);
        pending_.erase(key);
      }
      promise.set_value(value);
      return value;
    } catch (...) {
      {
        std::unique_lock lock(mutex_);
        pending_.erase(key);
      }
      promise.set_exception(std::current_exception());
      throw;
    }
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, Result, Hash> finished_;
  std::unordered_map<Key, std::shared_future<Result>, Hash> pending_;
};

}  // namespace ffpa_jit
