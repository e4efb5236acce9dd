// KernelSource: generated text on its way to a compiler.
#pragma once

#include <string>

#include "problem/target.h"

namespace ffpa_jit {

struct KernelSource {
  std::string text;           // self-contained: no includes resolved outside it
  std::string entry;          // extern "C" symbol
  std::string template_name;  // for messages
  Target target;
};

}  // namespace ffpa_jit
