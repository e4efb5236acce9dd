// Published configs against what their models are known to compute (numbers written down here by
// hand from the models' papers and `configuration_*.py`), and broken ones against the field a
// message must name.
#include "ffpa-jit/model_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tools/expect_error.h"
#include "tools/scratch_directory.h"

namespace ffpa_jit::cli {
namespace {

using test::expect_error;

ModelAttention published(const std::string& name) {
  const std::string path = fmt::format("{}/{}.json", FFPA_MODEL_CONFIGS, name);
  const std::string text = test::contents(path);
  EXPECT_FALSE(text.empty()) << path;
  return parse_model_config(text, path);
}

struct Expected {
  int heads, kv_heads, head_dim, head_dim_v;
  bool causal;
  int64_t left, right;
  double softcap;
  bool sinks;
  int64_t chunk;
  int layers;
};

void expect_problems(const std::string& name, const std::vector<Expected>& expected,
                     DType dtype = DType::kBf16) {
  SCOPED_TRACE(name);
  const ModelAttention model = published(name);
  ASSERT_EQ(model.problems.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    const ModelProblem& got = model.problems[i];
    const Expected& want = expected[i];
    EXPECT_EQ(got.heads, want.heads);
    EXPECT_EQ(got.kv_heads, want.kv_heads);
    EXPECT_EQ(got.head_dim, want.head_dim);
    EXPECT_EQ(got.head_dim_v, want.head_dim_v);
    EXPECT_EQ(got.causal, want.causal);
    EXPECT_EQ(got.window_left, want.left);
    EXPECT_EQ(got.window_right, want.right);
    EXPECT_EQ(got.softcap, want.softcap);
    EXPECT_EQ(got.sinks, want.sinks);
    EXPECT_EQ(got.chunk, want.chunk);
    EXPECT_EQ(got.layers, want.layers);
    EXPECT_EQ(got.dtype, dtype);
  }
}

TEST(ModelConfig, Gemma) {
  expect_problems("gemma-2-9b",
                  {{16, 8, 256, 256, true, 4095, 0, 50, false, 0, 21},
                   {16, 8, 256, 256, true, -1, -1, 50, false, 0, 21}},
                  DType::kFp32);
  expect_problems("gemma-3-1b-it", {{4, 1, 256, 256, true, 511, 0, 0, false, 0, 22},
                                    {4, 1, 256, 256, true, -1, -1, 0, false, 0, 4}});
  // Names neither heads nor head_dim: the class's defaults hold.
  expect_problems("gemma-3-4b-it", {{8, 4, 256, 256, true, 1023, 0, 0, false, 0, 29},
                                    {8, 4, 256, 256, true, -1, -1, 0, false, 0, 5}});
  expect_problems("gemma-3-27b-it", {{32, 16, 128, 128, true, 1023, 0, 0, false, 0, 52},
                                     {32, 16, 128, 128, true, -1, -1, 0, false, 0, 10}});
  // Full layers: twice the head dim, and 4 key/value heads only where K and V are one projection.
  expect_problems("gemma-4-31B-it", {{32, 16, 256, 256, true, 1023, 0, 0, false, 0, 50},
                                     {32, 4, 512, 512, true, -1, -1, 0, false, 0, 10}});
  expect_problems("gemma-4-E4B-it", {{8, 2, 256, 256, true, 511, 0, 0, false, 0, 35},
                                     {8, 2, 512, 512, true, -1, -1, 0, false, 0, 7}});
}

TEST(ModelConfig, Llama) {
  expect_problems("Llama-3.3-70B-Instruct", {{64, 8, 128, 128, true, -1, -1, 0, false, 0, 80}});
  // Three rotary layers with chunks of 8192, then one without.
  expect_problems("Llama-4-Scout-17B-16E-Instruct",
                  {{40, 8, 128, 128, true, -1, -1, 0, false, 8192, 36},
                   {40, 8, 128, 128, true, -1, -1, 0, false, 0, 12}});
}

TEST(ModelConfig, Qwen) {
  // 32 heads of 128 in a hidden size of 2560: hidden_size / heads would be 80.
  expect_problems("Qwen3-4B", {{32, 8, 128, 128, true, -1, -1, 0, false, 0, 36}});
  expect_problems("Qwen3-Next-80B-A3B-Thinking",
                  {{16, 2, 256, 256, true, -1, -1, 0, false, 0, 12}});
  EXPECT_EQ(published("Qwen3-Next-80B-A3B-Thinking").skipped,
            (std::vector<LayersWithoutAttention>{{"linear_attention", 36}}));
}

TEST(ModelConfig, DeepSeekGivesBothFormsOfLatentAttention) {
  expect_problems("DeepSeek-V3", {{128, 128, 192, 128, true, -1, -1, 0, false, 0, 61},
                                  {128, 1, 576, 512, true, -1, -1, 0, false, 0, 61}});
}

TEST(ModelConfig, Mistral) {
  expect_problems("Mistral-7B-v0.1", {{32, 8, 128, 128, true, 4095, 0, 0, false, 0, 32}});
  expect_problems("Mistral-7B-v0.3", {{32, 8, 128, 128, true, -1, -1, 0, false, 0, 32}});
  expect_problems("Mistral-Small-24B-Instruct-2501",
                  {{32, 8, 128, 128, true, -1, -1, 0, false, 0, 40}});
}

TEST(ModelConfig, SinksAndEncoders) {
  expect_problems("gpt-oss-20b", {{64, 8, 64, 64, true, 127, 0, 0, true, 0, 12},
                                  {64, 8, 64, 64, true, -1, -1, 0, true, 0, 12}});
  expect_problems("all-MiniLM-L6-v2", {{12, 12, 32, 32, false, -1, -1, 0, false, 0, 6}});
}

nlohmann::json small() {
  return {{"model_type", "llama"},
          {"hidden_size", 256},
          {"num_attention_heads", 4},
          {"num_hidden_layers", 2}};
}
ModelAttention parse(const nlohmann::json& config) {
  return parse_model_config(config.dump(), "config.json");
}

TEST(ModelConfig, RulesOfSingleFields) {
  auto with = [](const char* patch) {
    nlohmann::json config = small();
    config.merge_patch(nlohmann::json::parse(patch));
    return config;
  };
  EXPECT_EQ(parse(small()).problems[0].kv_heads, 4);
  EXPECT_EQ(parse(with(R"({"torch_dtype":"float16"})")).problems[0].dtype, DType::kFp16);
  EXPECT_EQ(parse(with(R"({"dtype":"torch.float32"})")).problems[0].dtype, DType::kFp32);
  EXPECT_EQ(parse_model_config(with(R"({"dtype":"float16"})").dump(), "f", DType::kBf16)
                .problems[0]
                .dtype,
            DType::kBf16);
  // A window that its switch turns off, and Qwen's first full layers.
  EXPECT_EQ(
      parse(with(R"({"sliding_window":9,"use_sliding_window":false})")).problems[0].window_left,
      -1);
  EXPECT_EQ(parse(with(R"({"sliding_window":9,"model_type":"qwen2"})")).problems[0].window_left,
            -1);
  const auto qwen = parse(with(
      R"({"sliding_window":9,"model_type":"qwen2","use_sliding_window":true,"max_window_layers":1})"));
  ASSERT_EQ(qwen.problems.size(), 2u);
  EXPECT_EQ(qwen.problems[0].window_left, -1);
  EXPECT_EQ(qwen.problems[1].window_left, 8);
  // EXAONE's letters.
  const auto letters = parse(with(R"({"sliding_window":9,"sliding_window_pattern":"LG"})"));
  ASSERT_EQ(letters.problems.size(), 2u);
  EXPECT_EQ(letters.problems[0].window_left, 8);
  // Bidirectional: half the span on each side.
  const auto both = parse(with(R"({"sliding_window":512,"use_bidirectional_attention":true})"));
  EXPECT_FALSE(both.problems[0].causal);
  EXPECT_EQ(both.problems[0].window_left, 256);
  EXPECT_EQ(both.problems[0].window_right, 256);
  // GPT-2's names.
  EXPECT_EQ(parse({{"model_type", "gpt2"}, {"n_embd", 768}, {"n_head", 12}, {"n_layer", 12}})
                .problems[0]
                .head_dim,
            64);
}

void expect_broken(const char* patch, std::initializer_list<std::string> words) {
  SCOPED_TRACE(patch);
  nlohmann::json config = small();
  config.merge_patch(nlohmann::json::parse(patch));  // null removes the field
  expect_error(FFPA_JIT_INVALID_ARGUMENT, words, [&] { parse(config); });
}

TEST(ModelConfig, BrokenFilesNameFileAndField) {
  expect_broken(R"({"num_attention_heads":null})",
                {"config.json", "'num_attention_heads'", "missing"});
  expect_broken(R"({"num_hidden_layers":null})", {"config.json", "'num_hidden_layers'", "missing"});
  expect_broken(R"({"hidden_size":null})", {"config.json", "head_dim"});
  expect_broken(R"({"num_attention_heads":"32"})",
                {"'num_attention_heads'", "\"32\"", "whole number"});
  expect_broken(R"({"num_attention_heads":-4})", {"'num_attention_heads'", "-4"});
  expect_broken(R"({"num_attention_heads":0})", {"'num_attention_heads'"});
  expect_broken(R"({"num_attention_heads":3})", {"'hidden_size'", "256", "3 heads"});
  expect_broken(R"({"num_attention_heads":1e30})", {"'num_attention_heads'"});
  expect_broken(R"({"num_hidden_layers":18446744073709551615})", {"'num_hidden_layers'"});
  expect_broken(R"({"num_key_value_heads":3})", {"'num_key_value_heads'", "divide"});
  expect_broken(R"({"head_dim":1.5})", {"'head_dim'"});
  expect_broken(R"({"sliding_window":-1})", {"'sliding_window'", "-1"});
  expect_broken(R"({"layer_types":["full_attention"]})", {"'layer_types'", "1 layers", "is 2"});
  expect_broken(R"({"layer_types":["full_attention","spiral"]})",
                {"'layer_types[1]'", "spiral", "known:"});
  expect_broken(R"({"layer_types":["sliding_attention","full_attention"]})",
                {"'sliding_window'", "missing"});
  expect_broken(R"({"layer_types":"full"})", {"'layer_types'", "list"});
  expect_broken(R"({"torch_dtype":"float8_e4m3fn"})",
                {"'torch_dtype'", "float8_e4m3fn", "--dtype"});
  expect_broken(R"({"attn_logit_softcapping":-1})", {"'attn_logit_softcapping'"});
  expect_broken(R"({"kv_lora_rank":512})", {"'qk_nope_head_dim'", "missing"});
  expect_broken(R"({"text_config":7})", {"'text_config'", "object"});
  expect_broken(R"({"text_config":{"num_hidden_layers":2}})",
                {"'text_config.num_attention_heads'"});
  expect_broken(R"({"sliding_window":9,"sliding_window_pattern":"LXG"})",
                {"'sliding_window_pattern'", "LXG"});
  expect_error(FFPA_JIT_INVALID_ARGUMENT, {"config.json", "not valid JSON", "line 2"},
               [] { parse_model_config("{\n\"a\": }", "config.json"); });
  expect_error(FFPA_JIT_INVALID_ARGUMENT, {"config.json", "object"},
               [] { parse_model_config("[1]", "config.json"); });
}

TEST(ModelConfig, MutatedFilesEndInAnErrorOrPossibleProblems) {
  const std::string good =
      test::contents(fmt::format("{}/gemma-4-E4B-it.json", FFPA_MODEL_CONFIGS));
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 12);
          break;
        default:
          text.insert(at, 1, "{}[]\",:0129-ntf"[random() % 15]);
          break;
      }
    }
    try {
      for (const ModelProblem& problem : parse_model_config(text, "config.json").problems) {
        ASSERT_GT(problem.heads, 0);
        ASSERT_GT(problem.head_dim, 0);
        ASSERT_GT(problem.layers, 0);
        ASSERT_EQ(problem.heads % problem.kv_heads, 0);
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace ffpa_jit::cli
