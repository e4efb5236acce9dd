#include "policy/routing.h"

#include <algorithm>

#include "base/error.h"
#include "policy/routing_rules.h"
#include "problem/canonical_text.h"

namespace ffpa_jit {
namespace {

using namespace routing;

bool serves(const KernelFamily& family, const Problem& problem, const Target& target) {
  return !family.refuses(problem, target).has_value();
}

// A family that defers serves all the same when no other does.
const KernelFamily* first_serving(Families families, const RouteRequest& request) {
  const KernelFamily* deferring = nullptr;
  for (const KernelFamily* family : families) {
    if (why_not(*family, request)) continue;
    if (!family->defers(request.problem, request.shape)) return family;
    if (!deferring) deferring = family;
  }
  return deferring;
}

// The most ordinary problems: a family that refuses both does not know the target.
bool knows_target(const KernelFamily& family, const Target& target) {
  Problem plain;
  plain.dtype = DType::kBf16;
  if (serves(family, plain, target)) return true;
  plain.dtype = DType::kFp16;
  return serves(family, plain, target);
}

// Would an own family have served, were it not for a rule's condition? The head-dim rules are
// lifted by asking with the nearest head dims that they allow.
bool own_would_serve(const Facts& f) {
  // Asked for by name: anything else is not what was asked.
  if (!f.forced.empty()) return true;
  Problem p = f.request.problem;
  for (int* dim : {&p.head_dim, &p.head_dim_v}) {
    *dim = std::min((*dim + kHeadDimStep - 1) / kHeadDimStep * kHeadDimStep, kLargestHeadDim);
  }
  return std::any_of(f.own.begin(), f.own.end(), [&](const KernelFamily* family) {
    return serves(*family, p, f.request.target);
  });
}

[[noreturn]] void nothing_serves(const Facts& f) {
  throw_error(FFPA_JIT_UNSUPPORTED,
              "no kernel family serves \"{}\" on {}: {}; change the problem or the device",
              text_of(f.request.problem), text_of(f.request.target),
              f.families.empty() ? "this build has none" : refusals(f, f.families, ""));
}

void fall_back(const Facts& f, Route& route) {
  const bool forbidden = f.environment.force_no_fallback;
  if (forbidden && own_would_serve(f)) {
    throw_error(FFPA_JIT_UNSUPPORTED,
                "routing rule {} would fall back ({}), which FFPA_FORCE_NO_SDPA_FALLBACK=1 "
                "forbids; unset it, or change what the rule names",
                route.rule, route.reason);
  }
  if (f.request.has_host_fallback && !forbidden) {
    route.outcome = Outcome::kFallback;
    route.reason += "; the host's fallback serves";
    return;
  }
  route.family = f.sdpa ? f.sdpa : f.last_resort;
  if (!route.family) nothing_serves(f);
  route.reason += fmt::format("; {} serves", route.family->name());
  if (!f.own_knows_target) {
    route.reason +=
        fmt::format(" (this build has no own family for {})", text_of(f.request.target));
  }
}

Facts gather(const RouteRequest& request, const Environment& environment, Families families) {
  const auto is_sdpa = [](const KernelFamily* family) { return family->name() == kSdpa; };
  const auto first_sdpa = std::find_if(families.begin(), families.end(), is_sdpa);
  const auto after_sdpa = std::find_if_not(first_sdpa, families.end(), is_sdpa);

  Facts f{.request = request,
          .environment = environment,
          .families = families,
          .forced = request.family};
  if (f.forced.empty() && !environment.family.empty()) {
    f.forced = environment.family;
    f.forced_by = "by FFPA_JIT_FAMILY";
  }
  f.gpu = request.target.kind != TargetKind::kCpu;
  f.own = Families(families.begin(), first_sdpa);
  f.last_resorts = Families(after_sdpa, families.end());
  f.preferred = first_serving(f.own, request);
  f.sdpa = first_serving(Families(first_sdpa, after_sdpa), request);
  f.last_resort = first_serving(f.last_resorts, request);
  f.own_knows_target = std::any_of(f.own.begin(), f.own.end(), [&](const KernelFamily* family) {
    return knows_target(*family, request.target);
  });
  if (f.forced.empty()) return f;

  std::vector<std::string_view> names;
  for (const KernelFamily* family : families) {
    if (std::find(names.begin(), names.end(), family->name()) == names.end()) {
      names.push_back(family->name());
    }
    if (!f.named && family->name() == f.forced && !why_not(*family, request)) {
      f.named = family;
    }
  }
  if (std::find(names.begin(), names.end(), f.forced) == names.end()) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "family is {} ({}); allowed: {}", in_quotes(f.forced),
                f.forced_by, fmt::join(names, ", "));
  }
  return f;
}

}  // namespace

std::span<const RuleDescription> routing_rules() {
  static const std::vector<RuleDescription> descriptions = [] {
    std::vector<RuleDescription> all;
    for (const Rule& rule : rules()) all.push_back(rule.description);
    return all;
  }();
  return descriptions;
}

Route route(const RouteRequest& request, const Environment& environment, Families families) {
  validate(request.problem);
  const Facts f = gather(request, environment, families);

  Route route;
  for (const KernelFamily* family : families) {
    auto why = why_not(*family, request);
    if (!why && f.forced.empty()) why = family->defers(request.problem, request.shape);
    route.verdicts.push_back({std::string(family->name()), !why.has_value(), why.value_or("")});
  }
  const auto rule = std::find_if(rules().begin(), rules().end(),
                                 [&](const Rule& candidate) { return candidate.applies(f); });
  if (rule == rules().end()) nothing_serves(f);

  route.rule = rule->description.name;
  route.reason = rule->reason(f);
  switch (rule->action) {
    case Action::kFallBack:
      fall_back(f, route);
      break;
    case Action::kSdpa:
      route.family = f.sdpa;
      break;
    case Action::kNamed:
      route.family = f.named;
      break;
    case Action::kPreferred:
      route.family = f.preferred;
      break;
    case Action::kLastResort:
      route.family = f.last_resort;
      break;
  }
  if (route.outcome == Outcome::kFamily && !route.family) nothing_serves(f);
  return route;
}

}  // namespace ffpa_jit
