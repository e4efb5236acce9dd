// A compile on a thread of its own, so that the caller can stop waiting at its time limit or when
// it is told to: compilers look at a cancellation only between their phases (NVRTC's are up to a
// minute long on pathological source). A job that does not come back is left to finish alone.
#pragma once

#include <atomic>
#include <functional>

#include "compile/compiler.h"

namespace ffpa_jit {

enum class CompileEnd { kFinished, kTimedOut, kCancelled };

// Runs job(cancelled) and returns as soon as it finishes, or within a fraction of a second of the
// limit or of limits.stop. `cancelled` turns true when nobody waits any more; the job should then
// return early. After kTimedOut and kCancelled the job may still be running: it must own, through
// its captures, all it touches. What the job throws is rethrown here. Throws Error OUT_OF_MEMORY
// when no thread can be made.
CompileEnd run_compile(const CompileLimits& limits,
                       std::function<void(const std::atomic<bool>& cancelled)> job);

// Compiles that nobody waits for and that have not returned yet.
int abandoned_compiles();

}  // namespace ffpa_jit
