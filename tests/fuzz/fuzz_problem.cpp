// Any bytes given to the canonical-text parsers end in a value whose text is those bytes, or in an
// Error INVALID_ARGUMENT. Run by libFuzzer, and by tests/problem with bounded mutations.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "kernel/kernel_binary.h"
#include "kernel/kernel_config.h"
#include "problem/problem.h"
#include "problem/target.h"

namespace {

template <typename Parse>
bool accepts_only_its_own_text(std::string_view input, Parse parse) {
  try {
    const auto value = parse(input);
    if (text_of(value) != input || !(parse(text_of(value)) == value)) std::abort();
    return true;
  } catch (const ffpa_jit::Error& error) {
    if (error.code() != FFPA_JIT_INVALID_ARGUMENT || std::string_view(error.what()).empty())
      std::abort();
    return false;
  }
}

}  // namespace

// How many inputs some parser accepted: lets the bounded run show that it tried more than garbage.
int64_t fuzz_problem_accepted = 0;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ffpa_jit;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  bool accepted = accepts_only_its_own_text(input, parse_problem);
  accepted |=
      accepts_only_its_own_text(input, [](std::string_view text) { return parse_pattern(text); });
  accepted |= accepts_only_its_own_text(input, parse_config);
  accepted |= accepts_only_its_own_text(input, parse_resources);
  if (input != "cpu")
    accepted |=
        accepts_only_its_own_text(input, parse_target);  // "cpu" stands for the host's level
  fuzz_problem_accepted += accepted;
  return 0;
}
