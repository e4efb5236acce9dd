#include "cache/fork_handler.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace ffpa_jit {
namespace {

// Never destroyed: a fork may come after static destructors have begun.
struct Watched {
  std::mutex mutex;
  std::vector<ForkAware*> objects;
};

Watched& watched() {
  static auto* const instance = new Watched;
  return *instance;
}

void prepare() {
  watched().mutex.lock();
  for (ForkAware* object : watched().objects) object->before_fork();
}

void parent() {
  for (ForkAware* object : watched().objects) object->after_fork_in_parent();
  watched().mutex.unlock();
}

void child() {
  for (ForkAware* object : watched().objects) object->after_fork_in_child();
  watched().mutex.unlock();
}

}  // namespace

void watch_forks(ForkAware* object) {
  static const int registered = ::pthread_atfork(prepare, parent, child);
  static_cast<void>(
      registered);  // ENOMEM: stores then notice a fork by their pid and leave the file alone
  const std::lock_guard lock(watched().mutex);
  watched().objects.push_back(object);
}

void unwatch_forks(ForkAware* object) {
  const std::lock_guard lock(watched().mutex);
  auto& objects = watched().objects;
  objects.erase(std::remove(objects.begin(), objects.end(), object), objects.end());
}

}  // namespace ffpa_jit
