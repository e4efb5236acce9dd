// What templates of every family read of a problem, by the same names.
#pragma once

#include <nlohmann/json.hpp>

#include "problem/problem.h"

namespace ffpa_jit {

// Sets in `context`: dtype; head_dim, head_dim_v; varlen; window_left, window_right (causal is a
// right window of 0); mask; bias, false or its dtype; dropout; softcap; lse; and what
// set_features() sets.
void set_problem(nlohmann::ordered_json& context, const Problem& problem);

// Sets in `context`: modifier, false or {text, lines, result, functions} for
// common/score_modifier.h.j2: statements that compute the modified score from score, b, h, q, k,
// nq, nk; the variable that then holds it; the functions that the statements call. sinks;
// seqlens_k; page_size, 0 when K and V are not paged.
void set_features(nlohmann::ordered_json& context, const Problem& problem);

}  // namespace ffpa_jit
