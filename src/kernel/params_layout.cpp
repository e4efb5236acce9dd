// The layout of ForwardParams as every device compiler must see it (LP64, natural alignment). A
// change here is a change of the generated kernels' argument: cached kernels are keyed by their
// source, so they follow by themselves.
#include <cstddef>
#include <type_traits>

#include "kernel/params.h"

namespace ffpa_jit {

static_assert(std::is_standard_layout_v<ForwardParams> &&
              std::is_trivially_copyable_v<ForwardParams>);
static_assert(sizeof(void*) == 8 && sizeof(long long) == 8 && sizeof(int) == 4 &&
              sizeof(float) == 4);

// 11 pointers, 22 strides, 7 sizes, 4 factors, 2 Philox words (one int of padding before them);
// then 3 pointers, a stride and 2 sizes of sinks, lengths and pages, and 4 tensors of a score
// modifier.
static_assert(offsetof(ForwardParams, q) == 0);
static_assert(offsetof(ForwardParams, workspace) == 80);
static_assert(offsetof(ForwardParams, q_stride_batch) == 88);
static_assert(offsetof(ForwardParams, lse_stride_batch) == 184);
static_assert(offsetof(ForwardParams, bias_stride_key) == 256);
static_assert(offsetof(ForwardParams, batch) == 264);
static_assert(offsetof(ForwardParams, softmax_scale) == 292);
static_assert(offsetof(ForwardParams, philox_seed) == 312);
static_assert(offsetof(ForwardParams, philox_offset) == 320);
static_assert(offsetof(ForwardParams, sinks) == 328);
static_assert(offsetof(ForwardParams, num_pages) == 360);
static_assert(offsetof(ForwardParams, modifier_tensors) == 368);
static_assert(sizeof(ModifierTensorParams) == 56);
static_assert(sizeof(ForwardParams) == 592 && alignof(ForwardParams) == 8);

}  // namespace ffpa_jit
