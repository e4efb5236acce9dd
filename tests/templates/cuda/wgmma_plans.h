// Problems, shapes and plans of the wgmma family on an H200, for the tests of its schedules.
#pragma once

#include "plan/families/wgmma.h"

namespace ffpa_jit::testing {

inline DeviceInfo h200() {
  DeviceInfo info;
  info.target = parse_target("sm_90a");
  info.multiprocessors = 132;
  return info;
}

inline Shape shape_of(int64_t heads, int64_t heads_kv, int64_t nq, int64_t nk) {
  Shape shape;
  shape.heads_q = heads;
  shape.heads_kv = heads_kv;
  shape.seqlen_q = shape.total_q = nq;
  shape.seqlen_k = shape.total_k = nk;
  return shape;
}

inline Shape shape_of(int64_t heads, int64_t nq, int64_t nk) {
  return shape_of(heads, heads, nq, nk);
}

inline Problem of_dims(int head_dim, int head_dim_v) {
  Problem problem;
  problem.head_dim = head_dim;
  problem.head_dim_v = head_dim_v;
  return problem;
}

inline Plan default_plan(const Problem& problem) {
  const Shape shape = shape_of(32, 32 / problem.gqa_group, 4096, 4096);
  return wgmma_family().plan(problem, wgmma_family().default_config(problem, shape, h200()),
                             h200());
}

}  // namespace ffpa_jit::testing
