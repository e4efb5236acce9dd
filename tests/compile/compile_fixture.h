// What the tests of compilers share: the error of a call, sources that take long.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/error.h"
#include "compile/compiler.h"

namespace ffpa_jit::test {

template <typename Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(FFPA_JIT_OK, "nothing was thrown");
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace ffpa_jit::test
