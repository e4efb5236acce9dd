// Checks of flags' values whose messages a user can read (CLI11's own print the largest double).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace ffpa_jit::cli {

inline const CLI::Validator kAboveZero(
    [](const std::string& text) {
      double number = 0;
      const bool fits = CLI::detail::lexical_cast(text, number) && number > 0;
      return fits ? std::string() : text + " is not a number above 0";
    },
    "ABOVE 0");

}  // namespace ffpa_jit::cli
