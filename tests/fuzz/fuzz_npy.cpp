// libFuzzer: any bytes as the dictionary of an .npy file.
#include <string_view>

#include "base/error.h"
#include "io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  try {
    const auto header =
        ffpa_jit::io::parse_npy_header({reinterpret_cast<const char*>(bytes), size}, "fuzz");
    for (const int64_t length : header.sizes) {
      if (length < 0) __builtin_trap();
    }
  } catch (const ffpa_jit::Error&) {
  }
  return 0;
}
