// The tensor maps by which the `wgmma` family's kernels load Q, K and V.
#pragma once

#include "device/tensor_map.h"
#include "kernel/params.h"
#include "problem/problem.h"

namespace ffpa_jit {

// [batch][head][row][column] (varlen: [1][head][packed row][column]), boxes of `box_rows` rows and
// `box_columns` columns under the swizzle of the box's width, 64 or 32 columns.
TensorMapSpec q_tensor_map(const Problem& problem, const ForwardParams& params, const Shape& shape,
                           int box_rows, int box_columns = 64);
TensorMapSpec k_tensor_map(const Problem& problem, const ForwardParams& params, const Shape& shape,
                           int box_rows, int box_columns = 64);
TensorMapSpec v_tensor_map(const Problem& problem, const ForwardParams& params, const Shape& shape,
                           int box_rows, int box_columns = 64);

// A mask or a bias as cuda/wgmma_rows_marks.cuh reads it: {keys, rows, heads, batch} in boxes of
// `box_keys` keys and 64 rows, or the one row that stands for all. TMA can read it
// (kernel/mark_tensor.h).
TensorMapSpec mask_tensor_map(const Problem&, const ForwardParams&, const Shape&, int box_keys);
TensorMapSpec bias_tensor_map(const Problem&, const ForwardParams&, const Shape&, int box_keys);

}  // namespace ffpa_jit
