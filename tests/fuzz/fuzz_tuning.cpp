// libFuzzer: any bytes as a tuning file, and what of it can be read as the row of a look-up.
#include <string_view>

#include "base/error.h"
#include "tune/shape_bucket.h"
#include "tune/tuned_configs.h"
#include "tune/tuning_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace ffpa_jit;
  try {
    for (const Tuning& row :
         parse_tuning_file({reinterpret_cast<const char*>(bytes), size}, "fuzz")) {
      const Problem problem = parse_problem(row.key.problem);
      const Shape shape = parse_bucket(problem, parse_tuning_shape(row.key.shape_bucket).second);
      if (bucket_distance(shape, shape) != 0) __builtin_trap();
      parse_config(row.config);
    }
  } catch (const Error&) {
  }
  return 0;
}
