// Tells the address and thread sanitizers, where this library is built with one, which stack runs.
// Called by the scheduler; empty otherwise.
#pragma once

#include "device/emulator/state.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace ffpa_jit::emulator {

#if defined(__SANITIZE_ADDRESS__)

inline unsigned char* stack_of(const Fiber& fiber) {
  const auto top = reinterpret_cast<uintptr_t>(fiber.thread);
  return reinterpret_cast<unsigned char*>(top & ~uintptr_t{kFfpaEmuStackBytes - 1});
}

// A fiber that ended by a failure left its frames poisoned.
inline void prepare_stack(Fiber& fiber) {
  ASAN_UNPOISON_MEMORY_REGION(stack_of(fiber), kFfpaEmuStackBytes - sizeof(FfpaEmuThread));
  fiber.sanitizer = {};
}
inline void prepare_main(Fiber& fiber) { fiber.sanitizer = {}; }
inline void begin_switch(Fiber& from, Fiber& to) {
  const void* bottom = to.thread ? stack_of(to) : to.sanitizer.bottom;
  const size_t size = to.thread ? kFfpaEmuStackBytes : to.sanitizer.size;
  __sanitizer_start_switch_fiber(from.finished ? nullptr : &from.sanitizer.fake_stack, bottom,
                                 size);
}
inline void end_switch(Fiber& now, Fiber* before) {
  const void* bottom = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(now.sanitizer.fake_stack, &bottom, &size);
  if (!before->thread) before->sanitizer = {before->sanitizer.fake_stack, bottom, size, nullptr};
}

#elif defined(__SANITIZE_THREAD__)

inline void prepare_stack(Fiber& fiber) {
  if (fiber.sanitizer.context) __tsan_destroy_fiber(fiber.sanitizer.context);
  fiber.sanitizer.context = __tsan_create_fiber(0);
}
inline void prepare_main(Fiber& fiber) { fiber.sanitizer.context = __tsan_get_current_fiber(); }
// One worker's fibers are ordered by their switches (flag 0).
inline void begin_switch(Fiber&, Fiber& to) { __tsan_switch_to_fiber(to.sanitizer.context, 0); }
inline void end_switch(Fiber&, Fiber*) {}

#else

inline void prepare_stack(Fiber&) {}
inline void prepare_main(Fiber&) {}
inline void begin_switch(Fiber&, Fiber&) {}
inline void end_switch(Fiber&, Fiber*) {}

#endif

}  // namespace ffpa_jit::emulator
