// ThreadPool: runs the cells of a grid on persistent workers. Called by CpuDevice; one pool per
// device.
//
// Several threads may call run() at once: each works on its own job, the workers help whichever has
// cells left, so never more than (callers + workers) threads compute. A caller never waits for a
// worker to wake up: it takes cells itself until none is left. Workers start with the first run
// that has more than one cell. A child process after fork() starts its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace ffpa_jit {

class ThreadPool {
 public:
  // cell(index, scratch): `scratch` is this thread's own, 64-byte aligned, of the size given to
  // run(), with whatever an earlier cell left in it.
  using Cell = std::function<void(uint64_t index, void* scratch)>;

  // The caller of run() is one of the `num_threads`; at least 1.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Returns when cell(0) ... cell(cells - 1) have run, each once, in no promised order. The first
  // exception a cell throws is rethrown here and stops cells not yet begun. Throws Error
  // OUT_OF_MEMORY when the calling thread cannot have its scratch; a worker that cannot stays away.
  void run(uint64_t cells, size_t scratch_bytes, const Cell& cell);

 private:
  struct Workers;

  Workers& workers();

  const int num_threads_;
  std::atomic<Workers*> workers_{nullptr};
};

}  // namespace ffpa_jit
