// Routing: which kernel family serves a call, or whether the fallback does, and why. Called by the
// Runtime on a dispatch miss and by `ffpa-jit explain`. Pure: the same request gives the same
// route.
//
// Words used here:
//   own family   any family but `sdpa`: kernels made for speed on one kind of hardware
//   last resort  a family listed after `sdpa`; serves when `sdpa` refuses, or by name
//   fallback     the host's callback where there is one, else the `sdpa` family
//
// The rules of routing_rules() are tried in order; the first that applies decides. They restrict
// own families of GPU targets (emulated ones too); on the CPU there is nothing to fall back to, so
// families decide alone.
//
// FFPA_FORCE_NO_SDPA_FALLBACK=1: a rule that would take a call away from an own family is an error
// (UNSUPPORTED) instead, and the host's callback is never used. "Take away" means: a family of this
// build would have served, were it not for the rule's condition. Where none would have (a target
// that only `sdpa` knows), `sdpa` is not a fallback but the family for the target, and serves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/kernel_family.h"
#include "policy/environment.h"
#include "problem/problem.h"
#include "problem/target.h"
#include "problem/tensor_facts.h"

namespace ffpa_jit {

// The reference's backend that a call stands for: which FFPA_*_ALLOW_SMALL_D applies. The reference
// takes Triton where none is named.
enum class ReferenceBackend : uint8_t { kTriton, kCuda, kCute };

struct RouteRequest {
  Problem problem;
  Shape shape;
  Target target;
  TensorFacts tensors;
  std::string family;  // forced; empty: FFPA_JIT_FAMILY, else routed
  Policy policy = Policy::kNative;
  ReferenceBackend backend = ReferenceBackend::kTriton;
  bool has_host_fallback = false;
};

enum class Outcome : uint8_t { kFamily, kFallback };

struct FamilyVerdict {
  std::string family;
  bool serves = false;
  std::string reason;  // why it refuses; empty when it serves
};

struct Route {
  Outcome outcome = Outcome::kFamily;
  const KernelFamily* family = nullptr;  // nullptr with kFallback
  std::string_view rule;                 // name of the rule that decided
  std::string reason;                    // in words
  std::vector<FamilyVerdict> verdicts;   // every family, in order of preference
};

// For documentation, `ffpa-jit explain` and tests.
struct RuleDescription {
  std::string_view name;
  std::string_view condition;
  std::string_view effect;
};
std::span<const RuleDescription> routing_rules();

// `shape` is taken as checked: the Runtime gives one that stands for a class of shapes.
// Throws Error INVALID_ARGUMENT (the problem or the name of a family is wrong), UNSUPPORTED
// (nothing serves, or a fall-back that FFPA_FORCE_NO_SDPA_FALLBACK forbids).
Route route(const RouteRequest& request, const Environment& environment,
            std::span<const KernelFamily* const> families);

}  // namespace ffpa_jit
