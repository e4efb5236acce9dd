// The fields of config.json and what stands in for the ones that published files leave out. The
// rules are those of the `configuration_*.py` classes of Hugging Face transformers 4.57 and 5.x.
#include "ffpa-jit/model_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "ffpa-jit/config_fields.h"
#include "ffpa-jit/model_layers.h"

namespace ffpa_jit::cli {
namespace {

using nlohmann::json;

constexpr int kLayerLimit = 4096;
constexpr int kHeadLimit = 65536;
constexpr int kDimLimit = 65536;
constexpr int64_t kLengthLimit = int64_t{1} << 31;

// What a class assumes when a field is absent (not null): 0 = nothing. Only fields that published
// configs of the class do leave out.
struct ClassDefaults {
  std::string_view model_type;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int global_head_dim = 0;
  int window = 0;
  int pattern = 0;  // every n-th layer is full
  int chunk = 0;
  double softcap = 0;
  bool sinks = false;
};
constexpr std::array<ClassDefaults, 9> kClassDefaults = {{
    {.model_type = "gemma", .head_dim = 256},
    {.model_type = "gemma2", .head_dim = 256, .window = 4096, .pattern = 2, .softcap = 50},
    {.model_type = "gemma3_text",
     .heads = 8,
     .kv_heads = 4,
     .head_dim = 256,
     .window = 4096,
     .pattern = 6},
    {.model_type = "gemma4_text",
     .head_dim = 256,
     .global_head_dim = 512,
     .window = 512,
     .pattern = 6},
    {.model_type = "gpt_oss", .head_dim = 64, .window = 128, .pattern = 2, .sinks = true},
    {.model_type = "llama4_text", .head_dim = 128, .chunk = 8192},
    {.model_type = "mistral", .kv_heads = 8, .window = 4096},
    {.model_type = "qwen3", .head_dim = 128},
    {.model_type = "qwen3_moe", .head_dim = 128},
}};

// A multimodal config that does not repeat the type of its text part.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTextTypes = {{
    {"gemma3", "gemma3_text"},
    {"gemma4", "gemma4_text"},
    {"llama4", "llama4_text"},
}};

constexpr std::array<std::string_view, 8> kEncoders = {
    "bert", "distilbert", "electra", "modernbert", "mpnet", "nomic_bert", "roberta", "xlm-roberta"};

constexpr std::array<std::string_view, 3> kTextParts = {"text_config", "llm_config",
                                                        "language_config"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::optional<DType> dtype_in(const ConfigFields& fields) {
  std::optional<std::string> text = fields.text("dtype");
  if (!text) return std::nullopt;
  const std::string_view name =
      std::string_view(*text).starts_with("torch.") ? std::string_view(*text).substr(6) : *text;
  if (name == "bfloat16") return DType::kBf16;
  if (name == "float16" || name == "half") return DType::kFp16;
  if (name == "float32" || name == "float") return DType::kFp32;
  fields.fail(fields.name_of("dtype"),
              fmt::format("is '{}'; known: bfloat16, float16, float32; --dtype overrides it",
                          text->substr(0, 60)));
}

// Adds to the entry that equals `problem` but for its layer count.
void add(std::vector<ModelProblem>& problems, ModelProblem problem) {
  for (ModelProblem& known : problems) {
    problem.layers = known.layers;
    if (known == problem) {
      ++known.layers;
      return;
    }
  }
  problem.layers = 1;
  problems.push_back(std::move(problem));
}

class Reader {
 public:
  Reader(const ConfigFields& fields, std::string type) : fields_(fields), type_(std::move(type)) {
    for (const ClassDefaults& row : kClassDefaults) {
      if (row.model_type == type_) defaults_ = row;
    }
  }

  ModelAttention read(DType dtype) {
    dtype_ = dtype;
    ModelAttention out;
    out.model_type = type_;
    const auto layers = fields_.integer("num_hidden_layers", 1, kLayerLimit);
    if (!layers) fields_.fail_missing("num_hidden_layers");
    heads_ = or_class("num_attention_heads", defaults_.heads, kHeadLimit).value_or(0);
    if (!heads_) fields_.fail_missing("num_attention_heads");
    if (fields_.find("kv_lora_rank") && !fields_.is_null("kv_lora_rank")) {
      read_mla(static_cast<int>(*layers), out);
      return out;
    }
    read_window();
    for (const Layer& layer : layers_of(fields_, {defaults_.pattern, defaults_.chunk > 0}, type_,
                                        static_cast<int>(*layers), window_ > 0)) {
      if (layer.kind == LayerKind::kOther) {
        skip(out, layer.name);
      } else {
        add(out.problems, problem_of(layer));
      }
    }
    return out;
  }

 private:
  // The field, or the class's default where it is absent; nullopt where it is null or has no
  // default.
  std::optional<int> or_class(std::string_view field, int fallback, int64_t most) const {
    if (const auto value = fields_.integer(field, 1, most)) return static_cast<int>(*value);
    if (fields_.find(field) || !fallback) return std::nullopt;
    return fallback;
  }

  int kv_heads_in(std::string_view field, int fallback) const {
    const int kv = static_cast<int>(fields_.integer(field, 1, kHeadLimit).value_or(fallback));
    if (heads_ % kv != 0) {
      fields_.fail(field, fmt::format("is {}; it must divide '{}', which is {}", kv,
                                      fields_.name_of("num_attention_heads"), heads_));
    }
    return kv;
  }

  void read_window() {
    const bool off = window_is_off_by_default(type_);
    if (fields_.boolean("use_sliding_window").value_or(!off)) {
      window_ = or_class("sliding_window", defaults_.window, kLengthLimit).value_or(0);
    }
    const json* both = fields_.find("use_bidirectional_attention");
    const bool bidirectional = both && (*both == json(true) || *both == json("all"));
    causal_ = !bidirectional && !contains(kEncoders, type_);
  }

  ModelProblem problem_of(const Layer& layer) {
    ModelProblem problem;
    problem.heads = heads_;
    const int kv = kv_heads_in("num_key_value_heads",
                               fields_.is_null("num_key_value_heads") || !defaults_.kv_heads
                                   ? heads_
                                   : defaults_.kv_heads);
    problem.kv_heads = kv;
    problem.head_dim = head_dim();
    if (layer.kind == LayerKind::kFull) {
      problem.head_dim = or_class("global_head_dim", defaults_.global_head_dim, kDimLimit)
                             .value_or(problem.head_dim);
      // Gemma 4 has fewer key/value heads in its full layers only where K and V are one projection.
      if (fields_.boolean("attention_k_eq_v").value_or(true)) {
        problem.kv_heads = kv_heads_in("num_global_key_value_heads", kv);
      }
    }
    problem.head_dim_v = problem.head_dim;
    problem.causal = causal_;
    if (layer.kind == LayerKind::kSliding) set_window(problem);
    if (layer.kind == LayerKind::kChunked) {
      problem.chunk = or_class("attention_chunk_size", defaults_.chunk, kLengthLimit).value_or(0);
      if (!problem.chunk) fields_.fail_missing("attention_chunk_size");
    }
    problem.softcap = softcap();
    problem.sinks = defaults_.sinks;
    problem.dtype = dtype_;
    problem.layer_type = layer.name;
    return problem;
  }

  // A window of n keys counts the query's own position: n - 1 to its left. Without causality the
  // same span lies half on each side.
  void set_window(ModelProblem& problem) {
    if (!window_) fields_.fail_missing("sliding_window");
    problem.window_left = causal_ ? window_ - 1 : window_ / 2;
    problem.window_right = causal_ ? 0 : window_ / 2;
  }

  double softcap() const {
    if (const auto value = fields_.number("attn_logit_softcapping")) return *value;
    return fields_.find("attn_logit_softcapping") ? 0 : defaults_.softcap;
  }

  int head_dim() const {
    if (const auto value = or_class("head_dim", defaults_.head_dim, kDimLimit)) return *value;
    const auto hidden = fields_.integer("hidden_size", 1, int64_t{1} << 24);
    if (!hidden)
      fields_.fail_missing(fields_.find("hidden_size") ? fields_.name_of("hidden_size")
                                                       : "head_dim");
    if (*hidden % heads_ != 0 || *hidden / heads_ > kDimLimit) {
      fields_.fail(fields_.name_of("hidden_size"),
                   fmt::format("is {}, which {} heads do not divide, and there is no 'head_dim'",
                               *hidden, heads_));
    }
    return static_cast<int>(*hidden / heads_);
  }

  // Multi-head latent attention (DeepSeek V2, section 2.1): as written (prefill: K and V expanded
  // per head), and with the up-projections absorbed into Q and O (decode: one latent key/value head
  // shared by all).
  void read_mla(int layers, ModelAttention& out) const {
    const auto dim = [&](std::string_view field, int64_t least) {
      const auto value = fields_.integer(field, least, kDimLimit);
      if (!value) fields_.fail_missing(field);
      return static_cast<int>(*value);
    };
    const int rank = dim("kv_lora_rank", 1), nope = dim("qk_nope_head_dim", 0);
    const int rope = dim("qk_rope_head_dim", 0), value_dim = dim("v_head_dim", 1);
    if (nope + rope == 0) fields_.fail("qk_nope_head_dim", "and 'qk_rope_head_dim' are both 0");
    ModelProblem problem;
    problem.heads = problem.kv_heads = heads_;
    problem.head_dim = nope + rope;
    problem.head_dim_v = value_dim;
    problem.dtype = dtype_;
    problem.layer_type = "mla";
    problem.layers = layers;
    out.problems.push_back(problem);
    problem.kv_heads = 1;
    problem.head_dim = rank + rope;
    problem.head_dim_v = rank;
    problem.layer_type = "mla_absorbed";
    out.problems.push_back(problem);
  }

  static void skip(ModelAttention& out, const std::string& name) {
    for (LayersWithoutAttention& known : out.skipped) {
      if (known.layer_type == name) {
        ++known.layers;
        return;
      }
    }
    out.skipped.push_back({name, 1});
  }

  const ConfigFields& fields_;
  std::string type_;
  ClassDefaults defaults_{};
  DType dtype_ = DType::kBf16;
  int heads_ = 0;
  int64_t window_ = 0;
  bool causal_ = true;
};

}  // namespace

ModelAttention parse_model_config(std::string_view text, const std::string& file,
                                  std::optional<DType> dtype) {
  json root;
  try {
    root = json::parse(text.begin(), text.end());
  } catch (const json::exception& error) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: not valid JSON: {}", file, error.what());
  }
  if (!root.is_object())
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: a JSON object is expected", file);

  const ConfigFields top(root, "", file);
  const json* part = &root;
  std::string prefix;
  for (const std::string_view name : kTextParts) {
    const json* inner = top.find(name);
    if (!inner || inner->is_null()) continue;
    if (!inner->is_object())
      top.fail(name, fmt::format("is {}; an object is expected", short_text(*inner)));
    part = inner;
    prefix = fmt::format("{}.", name);
    break;
  }
  const ConfigFields fields(*part, prefix, file);
  std::string type = fields.text("model_type").value_or("");
  if (type.empty()) type = top.text("model_type").value_or("");
  for (const auto& [outer, inner] : kTextTypes) {
    if (type == outer) type = inner;
  }
  if (!dtype) dtype = dtype_in(fields);
  if (!dtype) dtype = dtype_in(top);
  ModelAttention out = Reader(fields, type).read(dtype.value_or(DType::kBf16));
  return out;
}

}  // namespace ffpa_jit::cli
