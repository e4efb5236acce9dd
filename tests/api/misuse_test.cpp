// Every misuse of the C ABI gives a typed error whose text names the argument; the output stays
// untouched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "api/attention_fixture.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

struct Misuse {
  const char* name;
  std::function<void(SmallCall&)> break_it;
  ffpa_jit_status status;
  const char* message;  // must be part of the error text
};

std::vector<int32_t>& offsets() {
  static std::vector<int32_t> values{0, 3, 5};
  return values;
}

// The same numbers as packed tokens: [T, H, D] with two sequences.
void make_varlen(SmallCall& call) {
  call.args.layout = FFPA_JIT_VARLEN;
  call.args.q = ffpa::tensor(call.q.data(), FFPA_JIT_FP32, {5, 4, 8});
  call.args.k = ffpa::tensor(call.k.data(), FFPA_JIT_FP32, {5, 2, 8});
  call.args.v = ffpa::tensor(call.v.data(), FFPA_JIT_FP32, {5, 2, 8});
  call.args.o = ffpa::tensor(call.o.data(), FFPA_JIT_FP32, {5, 4, 8});
  call.args.lse = ffpa::tensor(call.lse.data(), FFPA_JIT_FP32, {4, 5});
  offsets() = {0, 3, 5};
  call.args.cu_seqlens_q = ffpa::tensor(offsets().data(), FFPA_JIT_INT32, {3});
  call.args.cu_seqlens_k = call.args.cu_seqlens_q;
  call.args.max_seqlen_q = call.args.max_seqlen_k = 3;
}

// Keys 0 to 6 and 0 to 3, in pages of 7 keys: two of the three that K and V have.
void make_paged(SmallCall& call) {
  call.args.k = ffpa::tensor(call.k.data(), FFPA_JIT_FP32, {2, 2, 7, 8});
  call.args.v = ffpa::tensor(call.v.data(), FFPA_JIT_FP32, {2, 2, 7, 8});
  static std::vector<int32_t> lengths, table;
  lengths = {7, 4};
  table = {1, 0};
  call.args.seqlens_k = ffpa::tensor(lengths.data(), FFPA_JIT_INT32, {2});
  call.args.block_table = ffpa::tensor(table.data(), FFPA_JIT_INT32, {2, 1});
}

void set(const ffpa_jit_tensor& t, int index, int32_t value) {
  static_cast<int32_t*>(t.data)[index] = value;
}

// A tensor of a score modifier: four numbers per use.
ffpa_jit_tensor numbers(std::initializer_list<int64_t> sizes,
                        ffpa_jit_dtype dtype = FFPA_JIT_FP32) {
  static std::vector<float> memory(64);
  return ffpa::tensor(memory.data(), dtype, sizes);
}

// A table, one misuse a line.
// clang-format off
const std::vector<Misuse>& misuses() {
  static const std::vector<Misuse> list = {
      {"struct_size_zero", [](SmallCall& c) { c.args.struct_size = 0; }, FFPA_JIT_INVALID_ARGUMENT, "struct_size is 0"},
      {"struct_size_small", [](SmallCall& c) { c.args.struct_size = 8; }, FFPA_JIT_INVALID_ARGUMENT, "struct_size is 8"},
      {"struct_size_wild", [](SmallCall& c) { c.args.struct_size = size_t(-1); }, FFPA_JIT_INVALID_ARGUMENT, "struct_size"},
      {"device_kind", [](SmallCall& c) { c.args.device_kind = 9; }, FFPA_JIT_INVALID_ARGUMENT, "device_kind is 9"},
      {"device_index_negative", [](SmallCall& c) { c.args.device_index = -1; }, FFPA_JIT_INVALID_ARGUMENT, "device_index is -1"},
      {"second_cpu", [](SmallCall& c) { c.args.device_index = 1; }, FFPA_JIT_INVALID_ARGUMENT, "the CPU is one device"},
      {"layout", [](SmallCall& c) { c.args.layout = 7; }, FFPA_JIT_INVALID_ARGUMENT, "layout is 7"},
      {"q_null", [](SmallCall& c) { c.args.q.data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "q.data is NULL"},
      {"k_null", [](SmallCall& c) { c.args.k.data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "k.data is NULL"},
      {"v_null", [](SmallCall& c) { c.args.v.data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "v.data is NULL"},
      {"o_null", [](SmallCall& c) { c.args.o.data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "o.data is NULL"},
      {"lse_null", [](SmallCall& c) { c.args.lse.data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "lse.data is NULL"},
      {"q_dtype", [](SmallCall& c) { c.args.q.dtype = FFPA_JIT_BOOL; }, FFPA_JIT_INVALID_ARGUMENT, "q.dtype is 3; allowed: fp32, fp16, bf16"},
      {"q_dtype_unknown", [](SmallCall& c) { c.args.q.dtype = 77; }, FFPA_JIT_INVALID_ARGUMENT, "q.dtype is 77"},
      {"dtypes_differ", [](SmallCall& c) { c.args.v.dtype = FFPA_JIT_BF16; }, FFPA_JIT_INVALID_ARGUMENT, "v.dtype is 2 and q.dtype is 0"},
      {"lse_dtype", [](SmallCall& c) { c.args.lse.dtype = FFPA_JIT_FP16; }, FFPA_JIT_INVALID_ARGUMENT, "lse.dtype is 1; allowed: fp32"},
      {"rank_zero", [](SmallCall& c) { c.args.q.rank = 0; }, FFPA_JIT_INVALID_ARGUMENT, "q.rank is 0; allowed: 4"},
      {"rank_five", [](SmallCall& c) { c.args.q.rank = 5; }, FFPA_JIT_INVALID_ARGUMENT, "q.rank is 5"},
      {"rank_negative", [](SmallCall& c) { c.args.k.rank = -1; }, FFPA_JIT_INVALID_ARGUMENT, "k.rank is -1"},
      {"size_negative", [](SmallCall& c) { c.args.q.sizes[2] = -5; }, FFPA_JIT_INVALID_ARGUMENT, "none may be negative"},
      {"stride_negative", [](SmallCall& c) { c.args.k.strides[1] = -8; }, FFPA_JIT_INVALID_ARGUMENT, "none may be negative"},
      {"stride_overflow", [](SmallCall& c) { c.args.q.strides[0] = INT64_MAX; }, FFPA_JIT_INVALID_ARGUMENT, "2^62"},
      {"span_overflow", [](SmallCall& c) { c.args.q.strides[0] = INT64_MAX / 4; c.args.q.strides[1] = INT64_MAX / 4; }, FFPA_JIT_INVALID_ARGUMENT, "2^62"},
      {"size_overflow", [](SmallCall& c) { c.args.q.sizes[2] = int64_t{1} << 40; c.args.q.strides[2] = 0; c.args.o.sizes[2] = int64_t{1} << 40; c.args.o.strides[2] = 0; }, FFPA_JIT_INVALID_ARGUMENT, "seqlen_q"},
      {"misaligned_q", [](SmallCall& c) { c.args.q.data = reinterpret_cast<char*>(c.q.data()) + 2; }, FFPA_JIT_INVALID_ARGUMENT, "q.data"},
      {"misaligned_o", [](SmallCall& c) { c.args.o.data = reinterpret_cast<char*>(c.o.data()) + 1; }, FFPA_JIT_INVALID_ARGUMENT, "multiple of the element size"},
      {"last_stride", [](SmallCall& c) { c.args.k.strides[3] = 2; }, FFPA_JIT_INVALID_ARGUMENT, "k has last stride 2"},
      {"o_broadcast", [](SmallCall& c) { c.args.o.strides[1] = 0; }, FFPA_JIT_INVALID_ARGUMENT, "two indices name the same element"},
      {"o_rows_overlap", [](SmallCall& c) { c.args.o.strides[2] = 7; }, FFPA_JIT_INVALID_ARGUMENT, "two indices name the same element"},
      {"lse_overlap", [](SmallCall& c) { c.args.lse.strides[1] = 4; }, FFPA_JIT_INVALID_ARGUMENT, "two indices name the same element"},
      {"o_is_q", [](SmallCall& c) { c.args.o.data = c.q.data(); }, FFPA_JIT_INVALID_ARGUMENT, "overlaps q"},
      {"o_shifted_into_q", [](SmallCall& c) { c.args.q.data = c.o.data() + 8; c.args.q.sizes[0] = 1; c.args.k.sizes[0] = 1; c.args.v.sizes[0] = 1; c.args.o.sizes[0] = 1; c.args.lse.sizes[0] = 1; }, FFPA_JIT_INVALID_ARGUMENT, "overlaps q"},
      {"o_is_v", [](SmallCall& c) { c.args.v.data = c.o.data(); }, FFPA_JIT_INVALID_ARGUMENT, "overlaps v"},
      {"lse_in_o", [](SmallCall& c) { c.args.lse.data = c.o.data(); }, FFPA_JIT_INVALID_ARGUMENT, "lse"},
      {"batch_k", [](SmallCall& c) { c.args.k.sizes[0] = 1; }, FFPA_JIT_INVALID_ARGUMENT, "the batch of k is 1; it must be 2"},
      {"heads_not_multiple", [](SmallCall& c) { c.args.k.sizes[1] = 3; c.args.v.sizes[1] = 3; }, FFPA_JIT_INVALID_ARGUMENT, "must be a multiple"},
      {"heads_kv_zero", [](SmallCall& c) { c.args.k.sizes[1] = 0; c.args.v.sizes[1] = 0; }, FFPA_JIT_INVALID_ARGUMENT, "must be a multiple"},
      {"head_dim_differs", [](SmallCall& c) { c.args.k.sizes[3] = 4; }, FFPA_JIT_INVALID_ARGUMENT, "the head dim of k is 4; it must be 8"},
      {"head_dim_zero", [](SmallCall& c) { c.args.q.sizes[3] = 0; c.args.k.sizes[3] = 0; }, FFPA_JIT_INVALID_ARGUMENT, "head_dim is 0"},
      {"head_dim_huge", [](SmallCall& c) { c.args.q.sizes[3] = 4096; c.args.k.sizes[3] = 4096; }, FFPA_JIT_INVALID_ARGUMENT, "head_dim is 4096; allowed: 1 to 2048"},
      {"head_dim_v", [](SmallCall& c) { c.args.o.sizes[3] = 4; }, FFPA_JIT_INVALID_ARGUMENT, "the head dim of o is 4; it must be 8"},
      {"length_v", [](SmallCall& c) { c.args.v.sizes[2] = 6; }, FFPA_JIT_INVALID_ARGUMENT, "the length of v is 6; it must be 7"},
      {"length_o", [](SmallCall& c) { c.args.o.sizes[2] = 4; }, FFPA_JIT_INVALID_ARGUMENT, "the length of o is 4; it must be 5"},
      {"length_lse", [](SmallCall& c) { c.args.lse.sizes[2] = 4; }, FFPA_JIT_INVALID_ARGUMENT, "the length of lse is 4; it must be 5"},
      {"mask_dtype", [](SmallCall& c) { c.args.mask = ffpa::tensor(c.v.data(), FFPA_JIT_FP32, {5, 7}); }, FFPA_JIT_INVALID_ARGUMENT, "mask.dtype is 0; allowed: bool"},
      {"mask_rank", [](SmallCall& c) { c.args.mask = ffpa::tensor(c.v.data(), FFPA_JIT_BOOL, {7}); }, FFPA_JIT_INVALID_ARGUMENT, "mask.rank is 1; allowed: 2 to 4"},
      {"mask_shape", [](SmallCall& c) { c.args.mask = ffpa::tensor(c.v.data(), FFPA_JIT_BOOL, {2, 3, 5, 7}); }, FFPA_JIT_INVALID_ARGUMENT, "mask has size 3 in dimension 1; allowed: 1 (broadcast) or 4"},
      {"mask_null", [](SmallCall& c) { c.args.mask = ffpa::tensor(nullptr, FFPA_JIT_BOOL, {5, 7}); }, FFPA_JIT_INVALID_ARGUMENT, "mask.data is NULL"},
      {"bias_dtype", [](SmallCall& c) { c.args.bias = ffpa::tensor(c.v.data(), FFPA_JIT_BF16, {5, 7}); }, FFPA_JIT_INVALID_ARGUMENT, "bias.dtype is 2; allowed: fp32"},
      {"bias_misaligned", [](SmallCall& c) { c.args.bias = ffpa::tensor(reinterpret_cast<char*>(c.v.data()) + 1, FFPA_JIT_FP32, {5, 7}); }, FFPA_JIT_INVALID_ARGUMENT, "bias.data"},
      {"scale_nan", [](SmallCall& c) { c.args.has_softmax_scale = 1; c.args.softmax_scale = NAN; }, FFPA_JIT_INVALID_ARGUMENT, "softmax_scale is nan"},
      {"scale_too_large", [](SmallCall& c) { c.args.has_softmax_scale = 1; c.args.softmax_scale = 1e300; }, FFPA_JIT_INVALID_ARGUMENT, "finite fp32"},
      {"softcap_negative", [](SmallCall& c) { c.args.softcap = -1; }, FFPA_JIT_INVALID_ARGUMENT, "softcap is -1"},
      {"softcap_inf", [](SmallCall& c) { c.args.softcap = INFINITY; }, FFPA_JIT_INVALID_ARGUMENT, "softcap is inf"},
      {"dropout_one", [](SmallCall& c) { c.args.dropout_p = 1; }, FFPA_JIT_INVALID_ARGUMENT, "dropout_p is 1; allowed: 0 <= dropout_p < 1"},
      {"dropout_negative", [](SmallCall& c) { c.args.dropout_p = -0.5; }, FFPA_JIT_INVALID_ARGUMENT, "dropout_p is -0.5"},
      {"dropout_nan", [](SmallCall& c) { c.args.dropout_p = NAN; }, FFPA_JIT_INVALID_ARGUMENT, "dropout_p is nan"},
      {"philox_misaligned", [](SmallCall& c) { c.args.dropout_p = 0.5; c.args.philox_state = reinterpret_cast<const uint64_t*>(reinterpret_cast<char*>(c.v.data()) + 4 - reinterpret_cast<uintptr_t>(c.v.data()) % 8); }, FFPA_JIT_INVALID_ARGUMENT, "philox_state"},
      {"causal_fewer_keys", [](SmallCall& c) { c.args.is_causal = 1; c.args.k.sizes[2] = 4; c.args.v.sizes[2] = 4; }, FFPA_JIT_INVALID_ARGUMENT, "causal with seqlen_k 4 and seqlen_q 5"},
      {"unknown_family", [](SmallCall& c) { c.args.family = "warp9"; }, FFPA_JIT_INVALID_ARGUMENT, "warp9"},
      {"cu_seqlens_without_varlen", [](SmallCall& c) { c.args.cu_seqlens_q = ffpa::tensor(offsets().data(), FFPA_JIT_INT32, {3}); }, FFPA_JIT_INVALID_ARGUMENT, "cu_seqlens are given"},
      {"varlen_rank", [](SmallCall& c) { c.args.layout = FFPA_JIT_VARLEN; }, FFPA_JIT_INVALID_ARGUMENT, "q.rank is 4; allowed: 3"},
      {"varlen_no_offsets", [](SmallCall& c) { make_varlen(c); c.args.cu_seqlens_q = {}; }, FFPA_JIT_INVALID_ARGUMENT, "cu_seqlens_q"},
      {"varlen_null_offsets", [](SmallCall& c) { make_varlen(c); c.args.cu_seqlens_q.data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "cu_seqlens_q.data is NULL"},
      {"varlen_offsets_dtype", [](SmallCall& c) { make_varlen(c); c.args.cu_seqlens_k.dtype = FFPA_JIT_FP32; }, FFPA_JIT_INVALID_ARGUMENT, "cu_seqlens_k.dtype"},
      {"varlen_offsets_length", [](SmallCall& c) { make_varlen(c); c.args.cu_seqlens_k.sizes[0] = 2; }, FFPA_JIT_INVALID_ARGUMENT, "batch + 1"},
      {"varlen_offsets_fall", [](SmallCall& c) { make_varlen(c); offsets() = {0, 4, 3}; c.args.max_seqlen_q = 4; }, FFPA_JIT_INVALID_ARGUMENT, "cu_seqlens_q[2] is 3"},
      {"varlen_offsets_start", [](SmallCall& c) { make_varlen(c); offsets() = {1, 3, 5}; }, FFPA_JIT_INVALID_ARGUMENT, "cu_seqlens_q[0] is 1"},
      {"varlen_offsets_past_end", [](SmallCall& c) { make_varlen(c); offsets() = {0, 3, 6}; }, FFPA_JIT_INVALID_ARGUMENT, "cu_seqlens_q[2] is 6"},
      {"varlen_longer_than_max", [](SmallCall& c) { make_varlen(c); c.args.max_seqlen_q = 2; }, FFPA_JIT_INVALID_ARGUMENT, "maximum length 2"},
      {"varlen_max_negative", [](SmallCall& c) { make_varlen(c); c.args.max_seqlen_k = -1; }, FFPA_JIT_INVALID_ARGUMENT, "max_seqlen_k is -1"},
      {"modifier_syntax", [](SmallCall& c) { c.args.score_modifier = "score +"; }, FFPA_JIT_INVALID_ARGUMENT, "score_modifier \"score +\", column 8: found the end"},
      {"modifier_name", [](SmallCall& c) { c.args.score_modifier = "skore"; }, FFPA_JIT_INVALID_ARGUMENT, "column 1: found \"skore\"; allowed: score, b, h"},
      {"modifier_bool", [](SmallCall& c) { c.args.score_modifier = "q < k"; }, FFPA_JIT_INVALID_ARGUMENT, "allowed: a number as the result"},
      {"modifier_tensor_absent", [](SmallCall& c) { c.args.score_modifier = "score + t2[h]"; }, FFPA_JIT_INVALID_ARGUMENT, "modifier_tensors[2] is not"},
      {"modifier_tensor_unread", [](SmallCall& c) { c.args.score_modifier = "score"; c.args.modifier_tensors[1] = numbers({4}); }, FFPA_JIT_INVALID_ARGUMENT, "t1 is given; allowed: only tensors that the score modifier reads"},
      {"modifier_tensor_without_modifier", [](SmallCall& c) { c.args.modifier_tensors[0] = numbers({4}); }, FFPA_JIT_INVALID_ARGUMENT, "without a score_modifier"},
      {"modifier_tensor_dtype", [](SmallCall& c) { c.args.score_modifier = "score + t0[h]"; c.args.modifier_tensors[0] = numbers({4}, FFPA_JIT_FP16); }, FFPA_JIT_INVALID_ARGUMENT, "modifier_tensors[0].dtype is 1; allowed: fp32, int32"},
      {"modifier_tensor_small", [](SmallCall& c) { c.args.score_modifier = "score + t0[k]"; c.args.modifier_tensors[0] = numbers({6}); }, FFPA_JIT_INVALID_ARGUMENT, "modifier_tensors[0] has size 6 in dimension 0, which the score modifier indexes by k; allowed: 1 (broadcast), or 7 and more"},
      {"modifier_tensor_empty", [](SmallCall& c) { c.args.score_modifier = "score + t0[k - 1]"; c.args.modifier_tensors[0] = numbers({0}); }, FFPA_JIT_INVALID_ARGUMENT, "modifier_tensors[0] has size 0"},
      {"modifier_tensor_null", [](SmallCall& c) { c.args.score_modifier = "score + t0[h]"; c.args.modifier_tensors[0] = numbers({4}); c.args.modifier_tensors[0].data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "modifier_tensors[0].data is NULL"},
      {"modifier_tensor_is_output", [](SmallCall& c) { c.args.score_modifier = "score + t0[h]"; c.args.modifier_tensors[0] = numbers({4}); c.args.modifier_tensors[0].data = c.o.data(); }, FFPA_JIT_INVALID_ARGUMENT, "overlaps modifier_tensors[0]"},
      {"sinks_dtype", [](SmallCall& c) { c.args.sinks = numbers({4}, FFPA_JIT_BF16); }, FFPA_JIT_INVALID_ARGUMENT, "sinks.dtype is 2; allowed: fp32"},
      {"sinks_length", [](SmallCall& c) { c.args.sinks = numbers({2}); }, FFPA_JIT_INVALID_ARGUMENT, "the length of sinks is 2; it must be 4"},
      {"sinks_null", [](SmallCall& c) { c.args.sinks = numbers({4}); c.args.sinks.data = nullptr; }, FFPA_JIT_INVALID_ARGUMENT, "sinks.data is NULL"},
      {"lengths_too_long", [](SmallCall& c) { make_paged(c); set(c.args.seqlens_k, 1, 8); }, FFPA_JIT_INVALID_ARGUMENT, "seqlens_k[1] is 8; allowed: 0 to 7"},
      {"lengths_negative", [](SmallCall& c) { make_paged(c); set(c.args.seqlens_k, 0, -1); }, FFPA_JIT_INVALID_ARGUMENT, "seqlens_k[0] is -1"},
      {"lengths_dtype", [](SmallCall& c) { make_paged(c); c.args.seqlens_k.dtype = FFPA_JIT_FP32; }, FFPA_JIT_INVALID_ARGUMENT, "seqlens_k.dtype is 0; allowed: int32"},
      {"lengths_count", [](SmallCall& c) { make_paged(c); c.args.seqlens_k.sizes[0] = 1; }, FFPA_JIT_INVALID_ARGUMENT, "the length of seqlens_k is 1; it must be 2"},
      {"lengths_varlen", [](SmallCall& c) { const ffpa::Attention paged = [] { static SmallCall p; make_paged(p); return p.args; }(); make_varlen(c); c.args.seqlens_k = paged.seqlens_k; }, FFPA_JIT_INVALID_ARGUMENT, "seqlens_k is given with layout FFPA_JIT_VARLEN"},
      {"pages_without_lengths", [](SmallCall& c) { make_paged(c); c.args.seqlens_k = {}; }, FFPA_JIT_INVALID_ARGUMENT, "block_table is given without seqlens_k"},
      {"pages_out_of_pool", [](SmallCall& c) { make_paged(c); set(c.args.block_table, 1, 2); }, FFPA_JIT_INVALID_ARGUMENT, "block_table[1][0] is 2; allowed: 0 to 1"},
      {"pages_rank", [](SmallCall& c) { make_paged(c); c.args.block_table.rank = 1; }, FFPA_JIT_INVALID_ARGUMENT, "block_table.rank is 1; allowed: 2"},
      {"pages_batch", [](SmallCall& c) { make_paged(c); c.args.block_table.sizes[0] = 1; }, FFPA_JIT_INVALID_ARGUMENT, "the batch of block_table is 1; it must be 2"},
      {"pages_differ", [](SmallCall& c) { make_paged(c); c.args.v.sizes[0] = 1; }, FFPA_JIT_INVALID_ARGUMENT, "the number of pages of v is 1; it must be 2"},
      {"accumulate_dtype", [](SmallCall& c) { c.args.accumulate = FFPA_JIT_ACCUMULATE_FP16; }, FFPA_JIT_INVALID_ARGUMENT, "accumulate is 1 with fp32 tensors"},
      {"accumulate", [](SmallCall& c) { c.args.accumulate = 5; }, FFPA_JIT_INVALID_ARGUMENT, "accumulate is 5"},
  };
  return list;
}
// clang-format on

class Misuses : public ::testing::TestWithParam<size_t> {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TemporaryDirectory;
    ffpa::RuntimeOptions options;
    options.cache_dir = directory_->path().string();
    options.log = [](ffpa_jit_log_level, std::string_view) {};
    runtime_ = new ffpa::Runtime(std::move(options));
  }
  static void TearDownTestSuite() {
    delete runtime_;
    delete directory_;
  }
  static inline TemporaryDirectory* directory_ = nullptr;
  static inline ffpa::Runtime* runtime_ = nullptr;
};

TEST_P(Misuses, IsATypedErrorThatNamesTheArgument) {
  const Misuse& misuse = misuses()[GetParam()];
  SmallCall call;
  misuse.break_it(call);
  EXPECT_EQ(ffpa_jit_attention_forward(runtime_->get(), &call.args), misuse.status);
  EXPECT_THAT(ffpa_jit_last_error(), HasSubstr(misuse.message));
  for (float value : call.o) ASSERT_TRUE(std::isnan(value)) << "the output was written";
}

INSTANTIATE_TEST_SUITE_P(All, Misuses, ::testing::Range<size_t>(0, misuses().size()),
                         [](const auto& param) {
                           return std::string(misuses()[param.param].name);
                         });

TEST_F(Misuses, NullArguments) {
  SmallCall call;
  EXPECT_EQ(ffpa_jit_attention_forward(nullptr, &call.args), FFPA_JIT_INVALID_ARGUMENT);
  EXPECT_THAT(ffpa_jit_last_error(), HasSubstr("runtime is NULL"));
  EXPECT_EQ(ffpa_jit_attention_forward(runtime_->get(), nullptr), FFPA_JIT_INVALID_ARGUMENT);
  EXPECT_THAT(ffpa_jit_last_error(), HasSubstr("ffpa_jit_attention_args is NULL"));
  EXPECT_EQ(ffpa_jit_attention_prepare(runtime_->get(), &call.args, nullptr),
            FFPA_JIT_INVALID_ARGUMENT);
  EXPECT_EQ(ffpa_jit_runtime_create(nullptr, nullptr), FFPA_JIT_INVALID_ARGUMENT);
  EXPECT_EQ(ffpa_jit_plan_get_info(nullptr, nullptr), FFPA_JIT_INVALID_ARGUMENT);
  ffpa_jit_runtime_destroy(nullptr);
  ffpa_jit_plan_destroy(nullptr);
}

TEST_F(Misuses, RuntimeOptions) {
  const auto refused = [](auto change) {
    ffpa_jit_runtime_options options = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    change(options);
    ffpa_jit_runtime* runtime = reinterpret_cast<ffpa_jit_runtime*>(1);
    EXPECT_EQ(ffpa_jit_runtime_create(&options, &runtime), FFPA_JIT_INVALID_ARGUMENT);
    EXPECT_EQ(runtime, nullptr);
    return std::string(ffpa_jit_last_error());
  };
  EXPECT_THAT(refused([](auto& o) { o.struct_size = 3; }), HasSubstr("struct_size is 3"));
  EXPECT_THAT(refused([](auto& o) { o.policy = 8; }), HasSubstr("policy is 8"));
  EXPECT_THAT(refused([](auto& o) { o.num_threads = -2; }), HasSubstr("num_threads is -2"));
  EXPECT_THAT(refused([](auto& o) { o.compile_time_limit_ms = -2; }),
              HasSubstr("compile_time_limit_ms is -2"));
  EXPECT_THAT(refused([](auto& o) {
                o.has_log_level = 1;
                o.log_level = 12;
              }),
              HasSubstr("log_level is 12"));
}

// A caller built against a newer header: fields unknown here may be there, but must be unused.
TEST_F(Misuses, NewerCallers) {
  struct Newer {
    ffpa_jit_attention_args args;
    uint64_t future = 0;
  };
  SmallCall call;
  Newer newer{call.args};
  newer.args.struct_size = sizeof(Newer);
  EXPECT_EQ(ffpa_jit_attention_forward(runtime_->get(), &newer.args), FFPA_JIT_OK)
      << ffpa_jit_last_error();
  newer.future = 1;
  EXPECT_EQ(ffpa_jit_attention_forward(runtime_->get(), &newer.args), FFPA_JIT_UNSUPPORTED);
  EXPECT_THAT(ffpa_jit_last_error(), HasSubstr("newer header"));
}

// A caller built against the first header: what lies behind its struct is not read.
TEST_F(Misuses, OlderCallers) {
  SmallCall call;
  std::memset(static_cast<void*>(&call.args.score_modifier), 0xab,
              sizeof(call.args) - offsetof(ffpa_jit_attention_args, score_modifier));
  call.args.struct_size = offsetof(ffpa_jit_attention_args, score_modifier);
  EXPECT_EQ(ffpa_jit_attention_forward(runtime_->get(), &call.args), FFPA_JIT_OK)
      << ffpa_jit_last_error();
  for (float value : call.o) ASSERT_FALSE(std::isnan(value));
}

// What is given in pages is the same attention.
TEST_F(Misuses, PagesAreRead) {
  SmallCall paged, dense;
  make_paged(paged);
  set(paged.args.block_table, 0, 0);
  set(paged.args.block_table, 1, 1);
  dense.args.seqlens_k = paged.args.seqlens_k;
  for (SmallCall* call : {&paged, &dense}) {
    ASSERT_EQ(ffpa_jit_attention_forward(runtime_->get(), &call->args), FFPA_JIT_OK)
        << ffpa_jit_last_error();
  }
  EXPECT_EQ(paged.o, dense.o);
  EXPECT_EQ(paged.lse, dense.lse);
}

TEST(Status, EveryCodeHasItsName) {
  EXPECT_STREQ(ffpa_jit_status_name(FFPA_JIT_OK), "OK");
  EXPECT_STREQ(ffpa_jit_status_name(FFPA_JIT_INTERNAL), "INTERNAL");
  EXPECT_STREQ(ffpa_jit_status_name(static_cast<ffpa_jit_status>(999)), "UNKNOWN_STATUS");
  EXPECT_STREQ(ffpa_jit_version(), "0.1.0");
}

}  // namespace
}  // namespace ffpa_jit::testing
