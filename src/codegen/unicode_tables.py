#!/usr/bin/env python3
"""Writes unicode_tables.cpp: what Python's str knows about characters, as ranges.

Run by hand (python3 unicode_tables.py > unicode_tables.cpp) when a newer Unicode is wanted; the build does not
need Python.
"""
import sys
import unicodedata

ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(predicate):
    result = []
    for c in ALL:
        if predicate(chr(c)):
            if result and result[-1][1] == c - 1:
                result[-1][1] = c
            else:
                result.append([c, c])
    return result


def mappings(convert):
    """Single-character mappings as (first, last, stride, delta), and the others as (character, text)."""
    runs, special = [], []
    for c in ALL:
        mapped = convert(chr(c))
        if mapped == chr(c):
            continue
        if len(mapped) > 1:
            special.append((c, mapped))
            continue
        delta = ord(mapped) - c
        if runs:
            first, last, stride, run_delta = runs[-1]
            step = c - last
            if run_delta == delta and step in (1, 2) and (stride == 0 or stride == step):
                runs[-1] = (first, c, step, delta)
                continue
        runs.append((c, c, 0, delta))
    return runs, special


def is_cased(ch):
    return (ch + "\u03a3").lower().endswith("\u03c2")


CLASSES = {
    "kAlphabetic": str.isalpha,
    "kDecimal": str.isdecimal,
    "kDigit": str.isdigit,
    "kNumeric": str.isnumeric,
    "kLowercase": str.islower,
    "kUppercase": lambda ch: ch.isupper() and unicodedata.category(ch) != "Lt",
    "kTitlecase": lambda ch: unicodedata.category(ch) == "Lt",
    "kPrintable": str.isprintable,
    "kCased": is_cased,
    "kCaseIgnorable": lambda ch: not is_cased(ch) and ("A" + ch + "\u03a3").lower().endswith("\u03c2"),
}
MAPPINGS = {"kToUpper": str.upper, "kToLower": str.lower, "kToTitle": str.title}


def write_items(items):
    line = " "
    for item in items:
        if len(line) + len(item) > 98:
            print(line)
            line = " "
        line += " " + item
    print(line)


print("// Made by unicode_tables.py from Unicode %s. Do not edit." % unicodedata.unidata_version)
print('#include "codegen/unicode_tables.h"\n')
print("namespace ffpa_jit::codegen {\n")
print("// clang-format off")
for name, predicate in CLASSES.items():
    table = ranges(predicate)
    print("static constexpr CharacterRange %sData[] = {" % name)
    write_items("{0x%X,0x%X}," % (a, b) for a, b in table)
    print("};\nconst std::span<const CharacterRange> %s(%sData);\n" % (name, name))
for name, convert in MAPPINGS.items():
    runs, special = mappings(convert)
    print("static constexpr CaseRun %sData[] = {" % name)
    write_items("{0x%X,0x%X,%d,%d}," % (a, b, max(s, 1), d) for a, b, s, d in runs)
    print("};\nconst std::span<const CaseRun> %s(%sData);" % (name, name))
    print("static constexpr CaseSpecial %sSpecialData[] = {" % name)
    write_items("{0x%X,U\"%s\"}," % (c, "".join("\\U%08X" % ord(x) for x in text)) for c, text in special)
    print("};\nconst std::span<const CaseSpecial> %sSpecial(%sSpecialData);\n" % (name, name))
print("// clang-format on")
print("}  // namespace ffpa_jit::codegen")
sys.stdout.flush()
