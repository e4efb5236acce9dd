// FeatureSpec: what a problem of the command line has beyond sizes, masks and scalars: a score
// modifier with its tensors, sinks, each sequence's own number of keys, pages. Part of a
// ProblemSpec.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ffpa_jit/ffpa_jit.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace ffpa_jit::cli {

struct ProblemSpec;

struct FeatureSpec {
  std::string score_modifier;
  // "t0=int32:b,k": dtype fp32 or int32, each size a number or b, h, q, k for the batch, the heads,
  // the lengths.
  std::vector<std::string> modifier_tensors;
  bool sinks = false;
  bool seqlens_k = false;
  int64_t page_size = 0;  // 0: not paged
  std::string accumulate = "fp32";
};

void add_feature_flags(CLI::App& command, FeatureSpec& features);

// Keys a sequence of `spec`, which is resolved, can have: its seqlen_k, up to whole pages.
int64_t key_bound(const ProblemSpec& spec);

// Shapes, without memory; K and V are turned into pages. `args` has those of `spec`, and must not
// outlive it. Throws Error INVALID_ARGUMENT.
void describe_features(const ProblemSpec& spec, ffpa::Attention& args);

// Contents, into memory that `allocate` gives: normal numbers; whole ones of 0, 1, 2; sequence i of
// B has seqlen_k * (B - i) / B keys, at least 1; the last pages first.
void fill_features(const ProblemSpec& spec, ffpa::Attention& args,
                   const std::function<void(ffpa_jit_tensor&)>& allocate,
                   const std::function<float()>& normal);

// " modifier=... sinks": for short_text().
std::string text_of(const FeatureSpec& features);

}  // namespace ffpa_jit::cli
