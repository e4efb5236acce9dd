#include "device/cpu/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/cpu/aligned_memory.h"

namespace ffpa_jit {
namespace {

// How long a thread polls before it sleeps in the kernel: about the cost of one sleep and wake-up,
// so that a series of launches is met awake and an idle process burns nothing.
constexpr int kSpins = 2000;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `word` differs from `seen`.
void wait_for_change(const std::atomic<uint32_t>& word, uint32_t seen) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (word.load(std::memory_order_acquire) != seen) return;
    pause_cpu();
  }
  word.wait(seen, std::memory_order_acquire);
}

// This thread's scratch, kept between launches; null when memory is out.
void* thread_scratch(size_t bytes) {
  thread_local std::unique_ptr<void, FreeMemory> memory;
  thread_local size_t capacity = 0;
  if (bytes > capacity) {
    memory.reset();  // before the new one: the old contents are not needed
    capacity = 0;
    memory = allocate_aligned(bytes);
    if (memory) capacity = bytes;
  }
  return memory.get();
}

// How many fork() calls lie between the first process and this one.
std::atomic<uint32_t> fork_depth{0};

void watch_forks() {
  static const int registered = ::pthread_atfork(
      nullptr, nullptr, [] { fork_depth.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;  // fails only when memory is out; then a forked child computes on its caller
                     // alone or not at all
}

// One run() in progress; lives on its caller's stack.
struct Job {
  uint64_t cells;
  size_t scratch_bytes;
  const ThreadPool::Cell& cell;
  std::atomic<uint64_t> next{0};
  std::atomic<uint32_t> helpers{0};  // workers that hold a pointer to this job
  std::mutex failure_mutex{};
  std::exception_ptr failure{};

  bool has_cells() const { return next.load(std::memory_order_relaxed) < cells; }

  void work(void* scratch) {
    try {
      for (uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < cells;)
        cell(i, scratch);
    } catch (...) {
      next.store(cells, std::memory_order_relaxed);
      std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  }
};

}  // namespace

struct ThreadPool::Workers {
  explicit Workers(int count) : born_at_depth(fork_depth.load()) {
    // Signals belong to the host's threads.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      threads.reserve(count);
      for (int i = 0; i < count; ++i) threads.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      // The system grants no more threads: go on with those there are.
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Workers() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    posted.fetch_add(1, std::memory_order_release);
    posted.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  // Inherited through fork(): its threads do not exist here and its mutex may be held forever.
  bool is_orphan() const { return born_at_depth != fork_depth.load(std::memory_order_relaxed); }

  void run(Job& job, void* scratch) {
    {
      std::lock_guard lock(mutex);
      jobs.push_back(&job);
    }
    posted.fetch_add(1, std::memory_order_release);
    posted.notify_one();  // and each that comes wakes two more: see serve()
    job.work(scratch);
    {
      std::lock_guard lock(mutex);
      jobs.erase(std::find(jobs.begin(), jobs.end(), &job));
    }
    while (true) {
      const uint32_t seen = left.load(std::memory_order_acquire);
      if (job.helpers.load(std::memory_order_acquire) == 0) return;
      wait_for_change(left, seen);
    }
  }

  void serve() {
    while (true) {
      const uint32_t seen = posted.load(std::memory_order_acquire);
      Job* job = nullptr;
      {
        std::lock_guard lock(mutex);
        if (stopping) return;
        const auto open =
            std::find_if(jobs.begin(), jobs.end(), [](Job* j) { return j->has_cells(); });
        if (open != jobs.end()) {
          job = *open;
          job->helpers.fetch_add(1, std::memory_order_relaxed);
        }
      }
      if (!job) {
        wait_for_change(posted, seen);
        continue;
      }
      // Waking in a tree keeps a small launch cheap: its caller pays for one wake-up, and the
      // workers stop waking others once the cells are gone.
      if (job->has_cells()) {
        posted.notify_one();
        posted.notify_one();
      }
      void* scratch = thread_scratch(job->scratch_bytes);
      const bool can_work = scratch || job->scratch_bytes == 0;
      if (can_work) job->work(scratch);
      job->helpers.fetch_sub(1, std::memory_order_release);  // from here on *job may be gone
      left.fetch_add(1, std::memory_order_release);
      left.notify_all();
      if (!can_work) wait_for_change(posted, seen);
    }
  }

  const uint32_t born_at_depth;
  std::mutex mutex;
  std::vector<Job*> jobs;
  bool stopping = false;
  std::atomic<uint32_t> posted{0};  // counts jobs: idle workers wait for it to change
  std::atomic<uint32_t> left{0};    // counts workers leaving a job: callers wait for it to change
  std::vector<std::thread> threads;
};

ThreadPool::ThreadPool(int num_threads) : num_threads_(std::max(1, num_threads)) { watch_forks(); }

ThreadPool::~ThreadPool() {
  Workers* workers = workers_.load();
  if (workers && !workers->is_orphan()) delete workers;
}

ThreadPool::Workers& ThreadPool::workers() {
  Workers* current = workers_.load(std::memory_order_acquire);
  if (current && !current->is_orphan()) return *current;
  // An orphan is leaked: nothing in it can be touched safely, not even to free it.
  auto fresh = std::make_unique<Workers>(num_threads_ - 1);
  if (workers_.compare_exchange_strong(current, fresh.get())) return *fresh.release();
  return *current;  // another thread was first
}

void ThreadPool::run(uint64_t cells, size_t scratch_bytes, const Cell& cell) {
  if (cells == 0) return;
  void* scratch = thread_scratch(scratch_bytes);
  if (!scratch && scratch_bytes != 0) {
    throw_error(FFPA_JIT_OUT_OF_MEMORY,
                "a kernel needs {} bytes of scratch per thread; free memory and retry",
                scratch_bytes);
  }
  Job job{cells, scratch_bytes, cell};
  if (cells == 1 || num_threads_ == 1) {
    job.work(scratch);
  } else {
    workers().run(job, scratch);
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace ffpa_jit
