// Numbers as text under the options that "%" and str.format share. Independent of the process's
// locale.
#pragma once

#include <cstdint>
#include <string>

namespace ffpa_jit::codegen {

// Digits of a magnitude in base 2, 8, 10 or 16.
std::string integer_digits(uint64_t magnitude, int base, bool upper);
// A non-negative float as type e, f or g (or upper case) says; `alternate` keeps trailing zeros and
// the point.
std::string float_digits(double magnitude, char type, int precision, bool alternate);

// round(value, digits): to the nearest decimal, ties to even; negative digits round before the
// point.
double round_decimal(double value, int64_t digits);

}  // namespace ffpa_jit::codegen
