// libFuzzer: any bytes as a .safetensors header, and the data length it is checked against.
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 4) return 0;
  uint32_t data_bytes = 0;
  std::memcpy(&data_bytes, bytes, 4);
  const std::string_view header(reinterpret_cast<const char*>(bytes) + 4, size - 4);
  try {
    uint64_t covered = 0;
    for (const auto& entry : ffpa_jit::io::parse_safetensors_header(header, data_bytes, "fuzz")) {
      if (entry.begin != covered || entry.end > data_bytes) __builtin_trap();
      covered = entry.end;
    }
  } catch (const ffpa_jit::Error&) {
  }
  return 0;
}
