// Checks of flags' values whose messages a user can read (CLI11's own print the largest double).
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace ffpa_jit::cli {

inline CLI::Validator above_zero_up_to(double most, const std::string& allowed) {
  return CLI::Validator(
      [=](const std::string& text) {
        double number = 0;
        const bool fits = CLI::detail::lexical_cast(text, number) && number > 0 && number <= most;
        return fits ? std::string() : fmt::format("{} is not {}", text, allowed);
      },
      "ABOVE 0");
}

inline const CLI::Validator kAboveZero = above_zero_up_to(1e300, "a number above 0");
inline const CLI::Validator kSeconds =
    above_zero_up_to(86400, "a number of seconds above 0 and up to a day's, 86400");

}  // namespace ffpa_jit::cli
