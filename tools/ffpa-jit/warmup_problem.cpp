// Problem files and model configs as one list.
#include "ffpa-jit/warmup_problem.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "ffpa-jit/model_config.h"
#include "io/file.h"

namespace ffpa_jit::cli {
namespace {

constexpr uint64_t kFileLimit = uint64_t{64} << 20;

// Every field of a problem; `targets` and `refused` are what warmup prints about it, and no part of
// it.
constexpr std::array kFields = {
    "heads",          "kv_heads",         "head_dim",   "head_dim_v", "batch",     "seqlen_q",
    "seqlen_k",       "causal",           "window",     "softcap",    "dropout",   "mask",
    "dtype",          "layout",           "lse",        "sinks",      "seqlens_k", "page_size",
    "score_modifier", "modifier_tensors", "accumulate", "family",     "layers",    "chunk",
    "layer_type",     "targets",          "refused"};

// One object of "problems", read field by field; a field that no problem has is an error.
class ProblemFields {
 public:
  ProblemFields(const nlohmann::json& object, std::string path, const std::string& file)
      : object_(object), path_(std::move(path)), file_(file) {
    if (!object.is_object())
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: {} is not an object", file, path_);
    for (const auto& [key, value] : object.items()) {
      if (std::find(kFields.begin(), kFields.end(), key) == kFields.end()) {
        fail(key, fmt::format("is not known; known: {}", fmt::join(kFields, ", ")));
      }
    }
  }
  [[noreturn]] void fail(std::string_view field, std::string_view what) const {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: field '{}.{}' {}", file_, path_, field, what);
  }
  template <typename T>
  T get(const char* field, T otherwise, std::string_view wanted) const {
    const nlohmann::json* value = find(field);
    if (!value) return otherwise;
    const bool fits = std::is_same_v<T, bool>          ? value->is_boolean()
                      : std::is_same_v<T, std::string> ? value->is_string()
                      : std::is_same_v<T, double>      ? value->is_number()
                                                       : is_int64(*value);
    if (!fits) fail(field, fmt::format("is not {}", wanted));
    return value->get<T>();
  }
  int64_t size(const char* field, int64_t otherwise) const {
    if (!find(field)) return otherwise;
    const int64_t value = get<int64_t>(field, otherwise, "a whole number");
    if (value < 1 || value > INT32_MAX) {
      fail(field, fmt::format("is {}; allowed: 1 to {}", value, INT32_MAX));
    }
    return value;
  }
  // A number, or a list of them.
  std::vector<int64_t> sizes(const char* field, int64_t otherwise) const {
    const nlohmann::json* value = find(field);
    if (!value) return {otherwise};
    const nlohmann::json list = value->is_array() ? *value : nlohmann::json::array({*value});
    if (list.empty()) fail(field, "is an empty list");
    std::vector<int64_t> out;
    for (const nlohmann::json& each : list) {
      if (!each.is_number_integer() || each < 1 || each > INT32_MAX) {
        fail(field, fmt::format("is {}; whole numbers from 1 to {} are allowed", value->dump(),
                                INT32_MAX));
      }
      out.push_back(each.get<int64_t>());
    }
    return out;
  }
  const nlohmann::json* find(const char* field) const {
    const auto it = object_.find(field);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  // A whole number that int64_t holds: nlohmann's own conversion would wrap.
  static bool is_int64(const nlohmann::json& value) {
    return value.is_number_integer() &&
           (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{INT64_MAX});
  }

 private:
  const nlohmann::json& object_;
  std::string path_;
  const std::string& file_;
};

WarmupProblem problem_of(const nlohmann::json& object, const std::string& path,
                         const std::string& file, std::optional<DType> dtype) {
  ProblemFields fields(object, path, file);
  WarmupProblem out;
  ProblemSpec& spec = out.spec;
  spec.heads = fields.size("heads", 0);
  spec.head_dim = fields.size("head_dim", 0);
  if (!spec.heads) fields.fail("heads", "is missing");
  if (!spec.head_dim) fields.fail("head_dim", "is missing");
  spec.kv_heads = fields.size("kv_heads", spec.heads);
  spec.head_dim_v = fields.size("head_dim_v", spec.head_dim);
  spec.batch = fields.size("batch", 1);
  out.seqlens_q = fields.sizes("seqlen_q", 2048);
  spec.seqlen_k = fields.size("seqlen_k", out.seqlens_q.front());
  spec.causal = fields.get<bool>("causal", false, "true or false");
  spec.softcap = fields.get<double>("softcap", 0, "a number");
  spec.dropout = fields.get<double>("dropout", 0, "a number");
  spec.lse = fields.get<bool>("lse", false, "true or false");
  spec.family = fields.get<std::string>("family", "", "a text");
  const std::string type = fields.get<std::string>("dtype", "bf16", "a text");
  const auto parsed = dtype_of(type);
  if (!parsed || *parsed == DType::kBool || *parsed == DType::kInt32) {
    fields.fail("dtype", fmt::format("is '{}'; allowed: fp32, fp16, bf16", type));
  }
  spec.dtype = dtype.value_or(*parsed);
  const std::string layout = fields.get<std::string>("layout", "bhnd", "a text");
  if (!layout_of(layout)) {
    fields.fail("layout", fmt::format("is '{}'; allowed: bhnd, bnhd, varlen", layout));
  }
  spec.layout = *layout_of(layout);
  try {
    spec.mask = parse_mask(fields.get<std::string>("mask", "", "a text"));
  } catch (const Error& error) {
    fields.fail("mask", error.what());
  }
  if (const nlohmann::json* window = fields.find("window")) {
    if (!window->is_array() || window->size() != 2 || !fields.is_int64((*window)[0]) ||
        !fields.is_int64((*window)[1])) {
      fields.fail("window", "is not a list of two whole numbers [left, right]");
    }
    spec.window_left = (*window)[0].get<int64_t>();
    spec.window_right = (*window)[1].get<int64_t>();
  }
  out.layers = static_cast<int>(fields.size("layers", 1));
  FeatureSpec& features = spec.features;
  features.sinks = fields.get<bool>("sinks", false, "true or false");
  features.seqlens_k = fields.get<bool>("seqlens_k", false, "true or false");
  features.page_size = fields.get<int64_t>("page_size", 0, "a whole number");
  features.accumulate = fields.get<std::string>("accumulate", "fp32", "a text");
  features.score_modifier = fields.get<std::string>("score_modifier", "", "a text");
  if (const nlohmann::json* tensors = fields.find("modifier_tensors")) {
    if (!tensors->is_array()) fields.fail("modifier_tensors", "is not a list of texts");
    for (const nlohmann::json& tensor : *tensors) {
      if (!tensor.is_string()) fields.fail("modifier_tensors", "is not a list of texts");
      features.modifier_tensors.push_back(tensor.get<std::string>());
    }
  }
  out.chunk = fields.get<int64_t>("chunk", 0, "a whole number");
  out.layer_type = fields.get<std::string>("layer_type", "", "a text");
  return out;
}

WarmupProblem problem_of(const ModelProblem& model, const ModelSizes& sizes) {
  WarmupProblem out;
  out.spec.dtype = model.dtype;
  out.spec.batch = sizes.batch;
  out.spec.heads = model.heads;
  out.spec.kv_heads = model.kv_heads;
  out.spec.head_dim = model.head_dim;
  out.spec.head_dim_v = model.head_dim_v;
  out.spec.seqlen_k = sizes.seqlen;
  out.spec.causal = model.causal;
  out.spec.window_left = model.window_left;
  out.spec.window_right = model.window_right;
  out.spec.softcap = model.softcap;
  if (sizes.prefill) out.seqlens_q.push_back(sizes.seqlen);
  if (sizes.decode) out.seqlens_q.push_back(1);
  out.layers = model.layers;
  out.spec.features.sinks = model.sinks;
  out.chunk = model.chunk;
  out.layer_type = model.layer_type;
  return out;
}

WarmupList list_of(const ModelAttention& model, const ModelSizes& sizes) {
  WarmupList list;
  list.model_type = model.model_type;
  for (const ModelProblem& problem : model.problems) {
    list.problems.push_back(problem_of(problem, sizes));
  }
  for (const LayersWithoutAttention& other : model.skipped) {
    list.skipped.push_back({{"layer_type", other.layer_type}, {"layers", other.layers}});
  }
  return list;
}

}  // namespace

Json WarmupProblem::json() const {
  const ProblemSpec s = spec.resolved();
  const bool windowed = s.window_left >= 0 || s.window_right >= 0;
  Json out{{"heads", s.heads},
           {"kv_heads", s.kv_heads},
           {"head_dim", s.head_dim},
           {"head_dim_v", s.head_dim_v},
           {"causal", s.causal},
           {"window", windowed ? Json{s.window_left, s.window_right} : Json(nullptr)},
           {"softcap", s.softcap},
           {"sinks", s.features.sinks},
           {"dtype", name_of(s.dtype)},
           {"layers", layers},
           {"batch", s.batch},
           {"seqlen_q", seqlens_q.size() == 1 ? Json(seqlens_q[0]) : Json(seqlens_q)},
           {"seqlen_k", s.seqlen_k},
           {"layout", name_of(s.layout)}};
  if (chunk) out["chunk"] = chunk;
  if (s.mask.kind != MaskKind::kNone) {
    out["mask"] = fmt::format("{}:{}", s.mask.kind == MaskKind::kBoolean ? "bool" : "bias",
                              text_of(s.mask.pattern));
  }
  if (s.dropout > 0) out["dropout"] = s.dropout;
  if (!s.features.score_modifier.empty()) out["score_modifier"] = s.features.score_modifier;
  if (!s.features.modifier_tensors.empty()) out["modifier_tensors"] = s.features.modifier_tensors;
  if (s.features.seqlens_k) out["seqlens_k"] = true;
  if (s.features.page_size) out["page_size"] = s.features.page_size;
  if (s.features.accumulate != "fp32") out["accumulate"] = s.features.accumulate;
  if (s.lse) out["lse"] = true;
  if (!s.family.empty()) out["family"] = s.family;
  if (!layer_type.empty()) out["layer_type"] = layer_type;
  return out;
}

WarmupList parse_warmup_text(const std::string& text, const std::string& file,
                             std::optional<DType> dtype, const ModelSizes& sizes) {
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: not valid JSON: {}", file, error.what());
  }
  if (!root.is_object() || !root.contains("problems"))
    return list_of(parse_model_config(text, file, dtype), sizes);
  const nlohmann::json& problems = root["problems"];
  if (!problems.is_array() || problems.empty()) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{}: field 'problems' is not a list of one problem or more", file);
  }
  WarmupList list;
  for (size_t i = 0; i < problems.size(); ++i) {
    list.problems.push_back(problem_of(problems[i], fmt::format("problems[{}]", i), file, dtype));
  }
  return list;
}

WarmupList read_warmup_file(const std::filesystem::path& path, std::optional<DType> dtype,
                            const ModelSizes& sizes) {
  const bool directory = std::filesystem::is_directory(path);  // a model's directory
  const std::filesystem::path file = directory ? path / "config.json" : path;
  return parse_warmup_text(io::read_text(file, kFileLimit), file.string(), dtype, sizes);
}

}  // namespace ffpa_jit::cli
