#include "policy/routing_rules.h"

#include <algorithm>

#include "base/error.h"

namespace ffpa_jit::routing {

std::optional<std::string> why_not(const KernelFamily& family, const RouteRequest& request) {
  auto reason = family.refuses(request.problem, request.target);
  return reason ? reason : family.refuses_tensors(request.problem, request.tensors);
}

std::string refusals(const Facts& f, Families families, std::string_view name) {
  std::string text;
  for (const KernelFamily* family : families) {
    if (!name.empty() && family->name() != name) continue;
    if (const auto why = why_not(*family, f.request)) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", family->name(), *why);
    }
  }
  return text;
}

namespace {

// ---- conditions and reasons
// ----------------------------------------------------------------------

// The variable that keeps own kernels from small head dims for this call; "" when none does.
std::string_view small_d_switch(const Facts& f) {
  const Environment& e = f.environment;
  if (!e.allow_small_d) return "FFPA_JIT_ALLOW_SMALL_D";
  switch (f.request.backend) {
    case ReferenceBackend::kTriton:
      return e.triton_allow_small_d ? "" : "FFPA_TRITON_ALLOW_SMALL_D";
    case ReferenceBackend::kCuda:
      return e.cuda_allow_small_d ? "" : "FFPA_CUDA_ALLOW_SMALL_D";
    case ReferenceBackend::kCute:
      return e.cute_allow_small_d ? "" : "FFPA_CUTE_ALLOW_SMALL_D";
  }
  return "";
}

int largest_head_dim(const Facts& f) {
  return std::max(f.request.problem.head_dim, f.request.problem.head_dim_v);
}

std::string head_dims(const Facts& f) {
  const Problem& p = f.request.problem;
  return p.head_dim == p.head_dim_v ? fmt::format("head_dim {}", p.head_dim)
                                    : fmt::format("head_dim {} / {}", p.head_dim, p.head_dim_v);
}

bool asks_for_sdpa(const Facts& f) { return f.forced == kSdpa; }
std::string sdpa_reason(const Facts& f) {
  return fmt::format("sdpa was asked for ({})", f.forced_by);
}

bool small_d_disallowed(const Facts& f) {
  return f.gpu && largest_head_dim(f) <= kSmallHeadDim && !small_d_switch(f).empty();
}
std::string small_d_reason(const Facts& f) {
  return fmt::format("{} is at most {} and {}=0 keeps own kernels from it", head_dims(f),
                     kSmallHeadDim, small_d_switch(f));
}

bool head_dim_too_large(const Facts& f) { return f.gpu && largest_head_dim(f) > kLargestHeadDim; }
std::string head_dim_too_large_reason(const Facts& f) {
  return fmt::format("{} is above {}, the most that own kernels take", head_dims(f),
                     kLargestHeadDim);
}

bool head_dim_not_multiple(const Facts& f) {
  const Problem& p = f.request.problem;
  return f.gpu && (p.head_dim % kHeadDimStep != 0 || p.head_dim_v % kHeadDimStep != 0);
}
std::string head_dim_not_multiple_reason(const Facts& f) {
  return fmt::format("{} is not a multiple of {}, which own kernels need", head_dims(f),
                     kHeadDimStep);
}

bool short_sequence(const Facts& f) {
  const Shape& s = f.request.shape;
  const bool short_queries = s.seqlen_q >= kDecodeBelow && s.seqlen_q < kShortSequence;
  return f.gpu && f.request.policy == Policy::kReference &&
         (short_queries || s.seqlen_k < kShortSequence);
}
std::string short_sequence_reason(const Facts& f) {
  return fmt::format(
      "seqlen_q {} and seqlen_k {} are a short sequence (8 <= seqlen_q < 512, or seqlen_k < 512) "
      "under "
      "policy reference",
      f.request.shape.seqlen_q, f.request.shape.seqlen_k);
}

bool forced_unavailable(const Facts& f) { return !f.forced.empty() && !f.named; }
std::string forced_unavailable_reason(const Facts& f) {
  return fmt::format("{} was asked for ({}) and cannot serve ({})", f.forced, f.forced_by,
                     refusals(f, f.families, f.forced));
}

bool is_forced(const Facts& f) { return f.named != nullptr; }
std::string forced_reason(const Facts& f) {
  return fmt::format("{} was asked for ({})", f.forced, f.forced_by);
}

bool has_preferred(const Facts& f) { return f.preferred != nullptr; }
std::string preferred_reason(const Facts& f) {
  return fmt::format("{} is the first family in order of preference that serves this problem on {}",
                     f.preferred->name(), text_of(f.request.target));
}

bool sdpa_alone(const Facts& f) { return f.sdpa && !f.own_knows_target; }
std::string sdpa_alone_reason(const Facts& f) {
  return fmt::format("sdpa is the family that this build has for {}", text_of(f.request.target));
}

bool own_refuse(const Facts& f) { return f.sdpa != nullptr; }
std::string own_refuse_reason(const Facts& f) {
  return fmt::format("no own family for {} serves this problem ({})", text_of(f.request.target),
                     refusals(f, f.own, ""));
}

bool has_last_resort(const Facts& f) { return f.last_resort != nullptr; }
std::string last_resort_reason(const Facts& f) {
  return fmt::format("neither an own family nor sdpa serves this problem on {}",
                     text_of(f.request.target));
}

// ---- the table ---------------------------------------------------------------------------------

constexpr Rule kRules[] = {
    {{"sdpa-asked-for", "the family asked for is `sdpa`", "`sdpa` serves, whatever its speed"},
     Action::kSdpa,
     asks_for_sdpa,
     sdpa_reason},
    {{"small-d-disallowed",
      "GPU; both head dims <= 256; FFPA_JIT_ALLOW_SMALL_D=0, or "
      "FFPA_{CUDA,TRITON,CUTE}_ALLOW_SMALL_D=0 for the backend "
      "that the call stands for (Triton where it names none)",
      "fallback"},
     Action::kFallBack,
     small_d_disallowed,
     small_d_reason},
    {{"head-dim-above-1024", "GPU; a head dim > 1024", "fallback"},
     Action::kFallBack,
     head_dim_too_large,
     head_dim_too_large_reason},
    {{"head-dim-not-multiple-of-8", "GPU; a head dim that is not a multiple of 8", "fallback"},
     Action::kFallBack,
     head_dim_not_multiple,
     head_dim_not_multiple_reason},
    {{"short-sequence", "GPU; policy `reference`; 8 <= seqlen_q < 512, or seqlen_k < 512",
      "fallback"},
     Action::kFallBack,
     short_sequence,
     short_sequence_reason},
    {{"forced-family-unavailable", "the family asked for refuses this problem or target",
      "fallback"},
     Action::kFallBack,
     forced_unavailable,
     forced_unavailable_reason},
    {{"forced", "a family is asked for", "that family serves"},
     Action::kNamed,
     is_forced,
     forced_reason},
    {{"preferred", "an own family does not refuse", "the first one in order of preference serves"},
     Action::kPreferred,
     has_preferred,
     preferred_reason},
    {{"only-family", "no own family knows the target", "`sdpa` serves; this is not a fallback"},
     Action::kSdpa,
     sdpa_alone,
     sdpa_alone_reason},
    {{"own-families-refuse", "own families know the target, but each refuses this problem",
      "`sdpa` serves; this is not a fallback"},
     Action::kSdpa,
     own_refuse,
     own_refuse_reason},
    {{"last-resort", "`sdpa` refuses too, and a family listed after it does not",
      "that family serves"},
     Action::kLastResort,
     has_last_resort,
     last_resort_reason},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace ffpa_jit::routing
