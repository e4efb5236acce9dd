// Status names, the calling thread's last error, the version.
#include <string>

#include "api/boundary.h"

namespace ffpa_jit::api {
namespace {

struct LastError {
  std::string text;
  const char* shown = "";
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

}  // namespace

ffpa_jit_status fail(ffpa_jit_status status, const char* message) noexcept {
  LastError& error = last_error();
  try {
    error.text = message;
    error.shown = error.text.c_str();
  } catch (...) {
    error.shown = "the host is out of memory (and so is this message)";
  }
  return status;
}

}  // namespace ffpa_jit::api

extern "C" {

FFPA_JIT_API const char* ffpa_jit_status_name(ffpa_jit_status status) noexcept {
  switch (status) {
    case FFPA_JIT_OK:
      return "OK";
    case FFPA_JIT_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case FFPA_JIT_UNSUPPORTED:
      return "UNSUPPORTED";
    case FFPA_JIT_NO_COMPILER:
      return "NO_COMPILER";
    case FFPA_JIT_COMPILE_FAILED:
      return "COMPILE_FAILED";
    case FFPA_JIT_TEMPLATE_ERROR:
      return "TEMPLATE_ERROR";
    case FFPA_JIT_CACHE_ERROR:
      return "CACHE_ERROR";
    case FFPA_JIT_DEVICE_ERROR:
      return "DEVICE_ERROR";
    case FFPA_JIT_NO_DEVICE:
      return "NO_DEVICE";
    case FFPA_JIT_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case FFPA_JIT_TIMEOUT:
      return "TIMEOUT";
    case FFPA_JIT_NOT_PREPARED:
      return "NOT_PREPARED";
    case FFPA_JIT_IO_ERROR:
      return "IO_ERROR";
    case FFPA_JIT_INTERNAL:
      return "INTERNAL";
    case FFPA_JIT_STATUS_MAX:
      break;
  }
  return "UNKNOWN_STATUS";
}

FFPA_JIT_API const char* ffpa_jit_last_error(void) noexcept {
  return ffpa_jit::api::last_error().shown;
}

#define FFPA_JIT_TEXT_(x) #x
#define FFPA_JIT_TEXT(x) FFPA_JIT_TEXT_(x)

FFPA_JIT_API const char* ffpa_jit_version(void) noexcept {
  return FFPA_JIT_TEXT(FFPA_JIT_VERSION_MAJOR) "." FFPA_JIT_TEXT(
      FFPA_JIT_VERSION_MINOR) "." FFPA_JIT_TEXT(FFPA_JIT_VERSION_PATCH);
}

}  // extern "C"
