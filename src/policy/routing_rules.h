// The routing table: its rules in order, each a condition, a reason in words and what to do.
// Internal to routing.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/routing.h"

namespace ffpa_jit::routing {

using Families = std::span<const KernelFamily* const>;

inline constexpr std::string_view kSdpa = "sdpa";
inline constexpr int kSmallHeadDim = 256;
inline constexpr int kLargestHeadDim = 1024;
inline constexpr int kHeadDimStep = 8;
inline constexpr int64_t kShortSequence = 512;
inline constexpr int64_t kDecodeBelow =
    8;  // fewer queries take the decode path, which short sequences keep

// Everything that the rules look at.
struct Facts {
  const RouteRequest& request;
  const Environment& environment;
  Families families;  // all; `own` are those before sdpa, `last_resorts` those after it
  Families own = {};
  Families last_resorts = {};
  std::string forced = {};  // "" = routed
  std::string_view forced_by = "by the call";
  bool gpu = false;
  const KernelFamily* preferred = nullptr;    // the first own family that serves
  const KernelFamily* named = nullptr;        // the family asked for by name, where it serves
  const KernelFamily* sdpa = nullptr;         // where it serves
  const KernelFamily* last_resort = nullptr;  // the first that serves
  bool own_knows_target = false;              // some own family serves some problem on this target
};

enum class Action : uint8_t { kSdpa, kFallBack, kNamed, kPreferred, kLastResort };

struct Rule {
  RuleDescription description;
  Action action;
  bool (*applies)(const Facts&);
  std::string (*reason)(const Facts&);
};

// In order: the first that applies decides.
std::span<const Rule> rules();

// Why `family` cannot serve the request; nullopt when it can.
std::optional<std::string> why_not(const KernelFamily& family, const RouteRequest& request);

// "mma: needs sm_80; wgmma: ..." of those families that refuse; only those called `name` unless it
// is empty.
std::string refusals(const Facts& facts, Families families, std::string_view name);

}  // namespace ffpa_jit::routing
