// From the caller's argument struct to a checked AttentionCall.
#pragma once

#include "ffpa_jit/ffpa_jit.h"
#include "runtime/attention_call.h"

namespace ffpa_jit::api {

enum class Purpose {
  kPrepare,  // data pointers may be NULL
  kLaunch,
};

// Throws INVALID_ARGUMENT naming the argument, what was asked and what is allowed. `args` must be
// the full struct.
AttentionCall checked_call(const ffpa_jit_attention_args& args, Purpose purpose);

}  // namespace ffpa_jit::api
