// Failure: an error of a template before its place is known. Value operations, filters and methods
// throw it; the parser and the interpreter catch it, add file, line, column and the call chain, and
// throw ffpa_jit::Error.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

namespace ffpa_jit::codegen {

class Failure : public std::exception {
 public:
  explicit Failure(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// fail("cannot add {} and {}", a, b);
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ffpa_jit::codegen
