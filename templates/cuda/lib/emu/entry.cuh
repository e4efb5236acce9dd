// Put after a CUDA kernel that is compiled for the emulator: what the emulator calls for every thread.
//% include "cuda/lib/emu/instrumentation.cuh"
template <typename Params>
static inline __attribute__((always_inline)) void ffpa_emu_call(void (*kernel)(Params), const void* params) {
  kernel(*(const Params*)params);
}
extern "C" __attribute__((visibility("default"), no_sanitize("thread"), disable_sanitizer_instrumentation)) void ffpa_emu_run(const void* params) {
  ffpa_emu_call({{ entry }}, params);
}
