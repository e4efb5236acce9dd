#include "device/emulator/instruction_table.h"

#include <cmath>
#include <new>

#include "device/emulator/async_copy.h"
#include "device/emulator/barriers.h"
#include "device/emulator/matrix_multiply.h"
#include "device/emulator/matrix_transfer.h"
#include "device/emulator/memory_access.h"
#include "device/emulator/scheduler.h"
#include "device/emulator/warp_exchange.h"

namespace ffpa_jit::emulator {
namespace {

// No exception may cross a kernel's frames: what an instruction could throw (no memory) ends the
// launch.
[[noreturn]] void fail_memory(FfpaEmuThread* self, const void* place) {
  Failure failure;
  failure.place = place;
  failure.out_of_memory = true;
  fail(fiber_of(self), std::move(failure));
}

template <auto kFunction>
struct Guarded;
template <typename Result, typename... Arguments,
          Result (*kFunction)(FfpaEmuThread*, const void*, Arguments...)>
struct Guarded<kFunction> {
  static Result call(FfpaEmuThread* self, const void* place, Arguments... arguments) noexcept {
    try {
      return kFunction(self, place, arguments...);
    } catch (const std::bad_alloc&) {
    }
    fail_memory(self, place);
  }
};

constexpr FfpaEmuTable kTable = {
    .read = Guarded<check_read>::call,
    .write = Guarded<check_write>::call,
    .atomic = Guarded<check_atomic>::call,
    .shared_address = Guarded<shared_address>::call,
    .shared_memory = Guarded<shared_memory>::call,
    .bar_sync = Guarded<bar_sync>::call,
    .bar_arrive = Guarded<bar_arrive>::call,
    .bar_red = Guarded<bar_red>::call,
    .warp_sync = Guarded<warp_sync>::call,
    .shuffle = Guarded<shuffle>::call,
    .vote = Guarded<vote>::call,
    .mma = Guarded<mma>::call,
    .ldmatrix = Guarded<ldmatrix>::call,
    .stmatrix = Guarded<stmatrix>::call,
    .cp_async = Guarded<cp_async>::call,
    .cp_async_commit = Guarded<cp_async_commit>::call,
    .cp_async_wait = Guarded<cp_async_wait>::call,
    .fmaf = ::fmaf,
    .exp2f = ::exp2f,
    .expf = ::expf,
    .log2f = ::log2f,
    .logf = ::logf,
    .tanhf = ::tanhf,
    .sqrtf = ::sqrtf,
    .sinf = ::sinf,
    .cosf = ::cosf,
};

}  // namespace

const FfpaEmuTable& instruction_table() { return kTable; }

}  // namespace ffpa_jit::emulator
