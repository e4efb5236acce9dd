// What templates read about features that kernels of several families share through
// templates/common.
#pragma once

#include <nlohmann/json.hpp>

#include "problem/problem.h"

namespace ffpa_jit {

// Sets in `context`: modifier, false or {text, lines, result, functions} for
// common/score_modifier.h.j2: statements that compute the modified score from score, b, h, q, k,
// nq, nk; the variable that then holds it; the functions that the statements call. sinks;
// seqlens_k; page_size, 0 when K and V are not paged.
void set_features(nlohmann::ordered_json& context, const Problem& problem);

}  // namespace ffpa_jit
