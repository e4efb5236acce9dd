// WarmupProblem: what `ffpa-jit warmup` is asked to prepare: from flags, from a JSON problem file,
// or from a model's config.json. Its JSON is what warmup prints, and what a problem file holds.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ffpa-jit/output.h"
#include "ffpa-jit/problem_spec.h"

namespace ffpa_jit::cli {

struct WarmupProblem {
  ProblemSpec spec;                // its seqlen_q is not read
  std::vector<int64_t> seqlens_q;  // query lengths to prepare: of a model, prefill and decode
  std::string layer_type = {};     // of a model's config; else empty
  int layers = 1;
  int64_t chunk = 0;

  Json json() const;
};

struct WarmupList {
  std::string model_type;  // empty: not a model's config
  std::vector<WarmupProblem> problems;
  Json skipped = Json::array();  // layers without attention
};

struct ModelSizes {
  int64_t batch = 1;
  int64_t seqlen = 2048;  // prefill: queries and keys; decode: keys
  bool prefill = true, decode = true;
};

// Tells a problem file ("problems": [...]) from a model's config. Throws Error naming file and
// field.
WarmupList read_warmup_file(const std::filesystem::path& path, std::optional<DType> dtype,
                            const ModelSizes& sizes);
WarmupList parse_warmup_text(const std::string& text, const std::string& file,
                             std::optional<DType> dtype, const ModelSizes& sizes);

}  // namespace ffpa_jit::cli
