// Tables behind unicode.h: sorted ranges of characters.
#pragma once

#include <cstdint>
#include <span>

namespace ffpa_jit::codegen {

struct CharacterRange {
  uint32_t first, last;
};
// Every `stride`-th character from first to last maps to itself plus `delta`.
struct CaseRun {
  uint32_t first, last, stride;
  int32_t delta;
};
// A character that maps to several.
struct CaseSpecial {
  uint32_t character;
  const char32_t* text;
};

extern const std::span<const CharacterRange> kAlphabetic, kDecimal, kDigit, kNumeric, kLowercase,
    kUppercase, kTitlecase, kPrintable, kCased, kCaseIgnorable;
extern const std::span<const CaseRun> kToUpper, kToLower, kToTitle;
extern const std::span<const CaseSpecial> kToUpperSpecial, kToLowerSpecial, kToTitleSpecial;

}  // namespace ffpa_jit::codegen
