#include "device/emulator/instruction_table.h"

#include <cmath>
#include <new>

#include "device/emulator/async_copy.h"
#include "device/emulator/barriers.h"
#include "device/emulator/bulk_copy.h"
#include "device/emulator/cluster_memory.h"
#include "device/emulator/fences.h"
#include "device/emulator/matrix_multiply.h"
#include "device/emulator/matrix_transfer.h"
#include "device/emulator/mbarrier.h"
#include "device/emulator/memory_access.h"
#include "device/emulator/register_pool.h"
#include "device/emulator/scheduler.h"
#include "device/emulator/warp_exchange.h"
#include "device/emulator/warpgroup_multiply.h"

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
    .mbarrier_init = Guarded<mbarrier_init>::call,
    .mbarrier_arrive = Guarded<mbarrier_arrive>::call,
    .mbarrier_wait = Guarded<mbarrier_wait>::call,
    .fence = Guarded<fence>::call,
    .tensor_load = Guarded<tensor_load>::call,
    .tensor_store = Guarded<tensor_store>::call,
    .bulk_load = Guarded<bulk_load>::call,
    .bulk_store = Guarded<bulk_store>::call,
    .bulk_send = Guarded<bulk_send>::call,
    .bulk_commit = Guarded<bulk_commit>::call,
    .bulk_wait = Guarded<bulk_wait>::call,
    .wgmma = Guarded<wgmma>::call,
    .wgmma_fence = Guarded<wgmma_fence>::call,
    .wgmma_commit = Guarded<wgmma_commit>::call,
    .wgmma_wait = Guarded<wgmma_wait>::call,
    .watched = Guarded<watched>::call,
    .cluster_arrive = Guarded<cluster_arrive>::call,
    .cluster_wait = Guarded<cluster_wait>::call,
    .map_shared = Guarded<map_shared>::call,
    .cluster_memory = Guarded<cluster_memory>::call,
    .store_async = Guarded<store_async>::call,
    .elect = Guarded<elect>::call,
    .set_max_registers = Guarded<set_max_registers>::call,
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
