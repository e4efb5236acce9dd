#include "compile/compile_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace ffpa_jit {
namespace {

using Clock = std::chrono::steady_clock;

// Address space, not memory: pages are used as they are touched. Clang recurses deeply on nested
// source.
constexpr size_t kStackBytes = 64 << 20;
// How long a cancelled job may take to notice before it is left alone.
constexpr std::chrono::milliseconds kGrace{250};
// How long the end of the process waits for abandoned jobs: a compiler's static data must not be
// destroyed under a thread that still uses it.
constexpr std::chrono::seconds kExitPatience{5};

struct Job {
  std::function<void(const std::atomic<bool>&)> work;
  std::atomic<bool> cancelled{false};
  std::mutex mutex;
  std::condition_variable changed;
  bool finished = false;
  bool abandoned = false;
  bool stop_requested = false;
  std::exception_ptr failure;
};

// Never destroyed: abandoned threads report here during the process's last moments.
struct Abandoned {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
};

Abandoned& abandoned() {
  static Abandoned& list = *new Abandoned;
  return list;
}

void wait_for_abandoned_at_exit() {
  std::unique_lock lock(abandoned().mutex);
  abandoned().changed.wait_for(lock, kExitPatience, [] { return abandoned().running == 0; });
}

// The thread runs this library's code: it must stay mapped even if the host unloads it.
void keep_this_library_mapped() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<void*>(&wait_for_abandoned_at_exit), &info) && info.dli_fname) {
    ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

void count_abandoned() {
  static std::once_flag once;
  std::call_once(once, [] {
    keep_this_library_mapped();
    std::atexit(wait_for_abandoned_at_exit);
  });
  std::lock_guard lock(abandoned().mutex);
  ++abandoned().running;
}

void* run_job(void* argument) {
  const std::unique_ptr<std::shared_ptr<Job>> job(static_cast<std::shared_ptr<Job>*>(argument));
  std::exception_ptr failure;
  try {
    (*job)->work((*job)->cancelled);
  } catch (...) {
    failure = std::current_exception();
  }
  (*job)->work = nullptr;  // what it captured goes before anybody is told
  bool was_abandoned = false;
  {
    std::lock_guard lock((*job)->mutex);
    (*job)->finished = true;
    (*job)->failure = std::move(failure);
    was_abandoned = (*job)->abandoned;
    (*job)->changed.notify_all();
  }
  if (was_abandoned) {
    std::lock_guard lock(abandoned().mutex);
    --abandoned().running;
    abandoned().changed.notify_all();
  }
  return nullptr;
}

// With every signal blocked: the host's handlers run on the host's threads.
pthread_t start(const std::shared_ptr<Job>& job) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  ::sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  auto argument = std::make_unique<std::shared_ptr<Job>>(job);
  pthread_t thread;
  const int failed = ::pthread_create(&thread, &attributes, run_job, argument.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (failed) {
    throw_error(
        FFPA_JIT_OUT_OF_MEMORY,
        "cannot start a compile thread with a {} MiB stack: {}; raise the limit on threads or "
        "on address space (ulimit -u, ulimit -v)",
        kStackBytes >> 20, std::strerror(failed));
  }
  argument.release();  // the thread's now
  return thread;
}

}  // namespace

CompileEnd run_compile(const CompileLimits& limits,
                       std::function<void(const std::atomic<bool>& cancelled)> work) {
  if (limits.stop.stop_requested()) return CompileEnd::kCancelled;
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  const Clock::time_point begin = Clock::now();
  const pthread_t thread = start(job);

  const std::stop_callback on_stop(limits.stop, [&job] {
    std::lock_guard lock(job->mutex);
    job->stop_requested = true;
    job->changed.notify_all();
  });

  std::unique_lock lock(job->mutex);
  // wait_until(begin + hours::max) would overflow; nothing here takes a day.
  const auto limit = std::min<std::chrono::milliseconds>(limits.time_limit, std::chrono::hours(24));
  job->changed.wait_until(lock, begin + limit,
                          [&] { return job->finished || job->stop_requested; });
  if (job->finished) {
    lock.unlock();
    ::pthread_join(thread, nullptr);
    if (job->failure) std::rethrow_exception(job->failure);
    return CompileEnd::kFinished;
  }
  const CompileEnd end = job->stop_requested ? CompileEnd::kCancelled : CompileEnd::kTimedOut;
  job->cancelled = true;
  job->changed.wait_for(lock, kGrace, [&] { return job->finished; });
  if (job->finished) {
    lock.unlock();
    ::pthread_join(thread, nullptr);
  } else {
    job->abandoned = true;
    count_abandoned();
    lock.unlock();
    ::pthread_detach(thread);
  }
  return end;
}

int abandoned_compiles() {
  std::lock_guard lock(abandoned().mutex);
  return abandoned().running;
}

}  // namespace ffpa_jit
