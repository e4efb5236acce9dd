// The C boundary: no exception passes it. Every entry point runs its body through guarded().
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"

namespace ffpa_jit::api {

// Sets the calling thread's last error and returns `status`. Never throws: where even the message
// cannot be stored, a constant one is.
ffpa_jit_status fail(ffpa_jit_status status, const char* message) noexcept;

template <typename Body>
ffpa_jit_status guarded(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return FFPA_JIT_OK;
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(FFPA_JIT_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception& error) {
    return fail(FFPA_JIT_INTERNAL, error.what());
  } catch (...) {
    return fail(FFPA_JIT_INTERNAL, "an exception of unknown type was thrown");
  }
}

// A struct_size-versioned argument: at least `oldest` bytes (the first published version); a caller
// built against a newer header may pass more as long as what this library does not know is zero.
// Missing fields are those of `defaults`.
template <typename Struct>
Struct versioned(const Struct* given, size_t oldest, const char* name, const Struct& defaults) {
  if (!given) throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is NULL", name);
  size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  // A garbage size must not make us read past the caller's memory: nothing published is anywhere
  // near this large.
  constexpr size_t kLargest = 4 * sizeof(Struct);
  if (size < oldest || size > kLargest) {
    throw_error(
        FFPA_JIT_INVALID_ARGUMENT,
        "{}.struct_size is {}; allowed: {} to {} (set it to sizeof the struct, or start from "
        "its _INIT macro)",
        name, size, oldest, sizeof(Struct));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] != 0) {
      throw_error(FFPA_JIT_UNSUPPORTED,
                  "{} comes from a newer header (struct_size {}, this library knows {}) and sets a "
                  "field this library does not have; update the library",
                  name, size, sizeof(Struct));
    }
  }
  Struct out = defaults;
  std::memcpy(static_cast<void*>(&out), given, size < sizeof(Struct) ? size : sizeof(Struct));
  return out;
}

}  // namespace ffpa_jit::api
