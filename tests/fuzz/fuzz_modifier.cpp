// Any bytes given as a score modifier end in an expression whose canonical text is a fixed point,
// or in an Error INVALID_ARGUMENT. Run by libFuzzer, and by tests/problem with bounded mutations.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "problem/modifier/evaluate.h"
#include "problem/modifier/parse.h"

int64_t fuzz_modifier_accepted = 0;  // lets the bounded run show that it tried more than garbage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ffpa_jit;
  constexpr ModifierTensors kTensors{
      {{DType::kInt32, 2}, {DType::kFp32, 1}, {DType::kFp32, 4}, {DType::kFp32, 0}}};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    const std::string text = modifier::canonical(input, kTensors);
    const modifier::Expression expression = modifier::parse(text, kTensors);
    if (text_of(expression) != text || text.find(' ') != std::string::npos) std::abort();

    // Total: no value of the variables traps or reads outside the tensors.
    std::array<int32_t, 6> numbers{-2147483647 - 1, -1, 0, 1, 7, 2147483647};
    std::array<modifier::TensorView, 4> tensors;
    tensors[0] = {numbers.data(), DType::kInt32, {2, 3}, {3, 1}};
    tensors[1] = {numbers.data(), DType::kFp32, {6}, {1}};
    tensors[2] = {numbers.data(), DType::kFp32, {1, 2, 3, 1}, {0, 3, 1, 0}};
    modifier::Evaluator<double> evaluate(expression, tensors);
    for (int32_t extreme : numbers)
      evaluate({double(extreme), extreme, extreme, extreme, 3, 5, extreme, 4});
    ++fuzz_modifier_accepted;
  } catch (const Error& error) {
    if (error.code() != FFPA_JIT_INVALID_ARGUMENT || std::string_view(error.what()).empty())
      std::abort();
  }
  return 0;
}
