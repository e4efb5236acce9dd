// The routing table, line by line, over families that exist only here.
#include "policy/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "base/error.h"

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;

class FakeFamily final : public KernelFamily {
 public:
  using Refuse = std::function<std::optional<std::string>(const Problem&, const Target&)>;
  FakeFamily(std::string name, Refuse refuse)
      : name_(std::move(name)), refuse_(std::move(refuse)) {}

  std::string_view name() const override { return name_; }
  std::optional<std::string> refuses(const Problem& p, const Target& t) const override {
    return refuse_(p, t);
  }
  KernelConfig default_config(const Problem&, const Shape&, const DeviceInfo&) const override {
    return {};
  }
  Plan plan(const Problem&, const KernelConfig&, const DeviceInfo&) const override { return {}; }

 private:
  std::string name_;
  Refuse refuse_;
};

std::optional<std::string> tensor_core_refusal(const Problem& p) {
  if (p.dtype == DType::kFp32) return "needs fp16 or bf16";
  for (int d : {p.head_dim, p.head_dim_v}) {
    if (d > 1024) return "head_dim above 1024";
    if (d % 8 != 0) return "head_dim not a multiple of 8";
  }
  return std::nullopt;
}

// As a complete build would have them: wgmma and mma before sdpa, a last resort for the CPU after
// it.
const FakeFamily kWgmma("wgmma",
                        [](const Problem& p, const Target& t) -> std::optional<std::string> {
                          if (t.arch != "sm_90a") return "needs sm_90a";
                          return tensor_core_refusal(p);
                        });
const FakeFamily kMma("mma", [](const Problem& p, const Target& t) -> std::optional<std::string> {
  if (t.compute_capability() < 80) return "needs sm_80 or later";
  return tensor_core_refusal(p);
});
const FakeFamily kSdpaCuda("sdpa",
                           [](const Problem&, const Target& t) -> std::optional<std::string> {
                             if (t.compute_capability() < 75) return "needs CUDA";
                             return std::nullopt;
                           });
const FakeFamily kSdpaCpu("sdpa",
                          [](const Problem& p, const Target& t) -> std::optional<std::string> {
                            if (t.kind != TargetKind::kCpu) return "needs the CPU";
                            if (p.head_dim == 2048 && p.softcap)
                              return "refused to test the last resort";
                            return std::nullopt;
                          });
const FakeFamily kPortable("portable",
                           [](const Problem&, const Target& t) -> std::optional<std::string> {
                             if (t.kind != TargetKind::kCpu) return "needs the CPU";
                             return std::nullopt;
                           });
const KernelFamily* const kComplete[] = {&kWgmma, &kMma, &kSdpaCuda, &kSdpaCpu, &kPortable};
const KernelFamily* const kOnlySdpa[] = {&kSdpaCuda, &kSdpaCpu, &kPortable};

RouteRequest on(std::string_view target) {
  RouteRequest r;
  r.target = parse_target(target);
  r.problem.head_dim = r.problem.head_dim_v = 512;
  r.shape = {1, 8, 8, 4096, 4096, 4096, 4096};
  return r;
}

Environment with(std::vector<Environment::Setting> settings) { return Environment::from(settings); }

// "wgmma by preferred", "fallback by short-sequence", "UNSUPPORTED: message".
std::string routed(const RouteRequest& request, const Environment& environment = {},
                   std::span<const KernelFamily* const> families = kComplete) {
  try {
    const Route r = route(request, environment, families);
    EXPECT_FALSE(r.reason.empty());
    EXPECT_EQ(r.verdicts.size(), families.size());
    EXPECT_EQ(r.family == nullptr, r.outcome == Outcome::kFallback);
    return std::string(r.family ? r.family->name() : "fallback") + " by " + std::string(r.rule);
  } catch (const Error& error) {
    return (error.code() == FFPA_JIT_UNSUPPORTED ? "UNSUPPORTED: " : "INVALID_ARGUMENT: ") +
           std::string(error.what());
  }
}

TEST(Routing, FirstOwnFamilyThatServes) {
  EXPECT_EQ(routed(on("sm_90a")), "wgmma by preferred");
  EXPECT_EQ(routed(on("sm_90")), "mma by preferred");
  EXPECT_EQ(routed(on("emu:sm_90a")), "wgmma by preferred");
  const Route r = route(on("sm_80"), {}, kComplete);
  EXPECT_EQ(r.reason,
            "mma is the first family in order of preference that serves this problem on sm_80");
}

TEST(Routing, VerdictsListEveryFamilyInOrder) {
  const Route r = route(on("sm_80"), {}, kComplete);
  ASSERT_EQ(r.verdicts.size(), 5u);
  EXPECT_EQ(r.verdicts[0].family, "wgmma");
  EXPECT_FALSE(r.verdicts[0].serves);
  EXPECT_EQ(r.verdicts[0].reason, "needs sm_90a");
  EXPECT_EQ(r.verdicts[1].family, "mma");
  EXPECT_TRUE(r.verdicts[1].serves);
  EXPECT_EQ(r.verdicts[1].reason, "");
  EXPECT_EQ(r.verdicts[4].family, "portable");
}

TEST(Routing, SmallHeadDimsAreOwnUnlessDisallowed) {
  RouteRequest r = on("sm_90a");
  for (int d : {8, 64, 256}) {
    r.problem.head_dim = r.problem.head_dim_v = d;
    EXPECT_EQ(routed(r), "wgmma by preferred") << d;
    EXPECT_EQ(routed(r, with({{"FFPA_JIT_ALLOW_SMALL_D", "0"}})), "sdpa by small-d-disallowed")
        << d;
  }
  r.problem.head_dim = r.problem.head_dim_v = 264;
  EXPECT_EQ(routed(r, with({{"FFPA_JIT_ALLOW_SMALL_D", "0"}})), "wgmma by preferred");
  r.problem.head_dim_v = 64;  // one of the two is large: not a small head dim
  EXPECT_EQ(routed(r, with({{"FFPA_JIT_ALLOW_SMALL_D", "0"}})), "wgmma by preferred");
}

TEST(Routing, EachBackendHasItsSmallHeadDimSwitch) {
  const std::pair<ReferenceBackend, const char*> backends[] = {
      {ReferenceBackend::kCuda, "FFPA_CUDA_ALLOW_SMALL_D"},
      {ReferenceBackend::kTriton, "FFPA_TRITON_ALLOW_SMALL_D"},
      {ReferenceBackend::kCute, "FFPA_CUTE_ALLOW_SMALL_D"},
  };
  for (const auto& [backend, own] : backends) {
    RouteRequest r = on("sm_80");
    r.problem.head_dim = r.problem.head_dim_v = 128;
    r.backend = backend;
    for (const auto& [other, variable] : backends) {
      EXPECT_EQ(routed(r, with({{variable, "0"}})), std::string_view(own) == variable
                                                        ? "sdpa by small-d-disallowed"
                                                        : "mma by preferred");
    }
    EXPECT_EQ(routed(r, with({{"FFPA_JIT_ALLOW_SMALL_D", "0"}})), "sdpa by small-d-disallowed");
    EXPECT_THAT(route(r, with({{own, "0"}}), kComplete).reason,
                HasSubstr("head_dim 128 is at most 256 and " + std::string(own) + "=0"));
  }
  EXPECT_EQ(RouteRequest{}.backend, ReferenceBackend::kTriton);
}

TEST(Routing, HeadDimLimits) {
  const struct {
    int d, dv;
    const char* expected;
  } cases[] = {
      {1024, 1024, "mma by preferred"},
      {1032, 1032, "sdpa by head-dim-above-1024"},
      {64, 2048, "sdpa by head-dim-above-1024"},
      {1025, 64, "sdpa by head-dim-above-1024"},
      {8, 8, "mma by preferred"},
      {4, 4, "sdpa by head-dim-not-multiple-of-8"},
      {100, 96, "sdpa by head-dim-not-multiple-of-8"},
      {96, 100, "sdpa by head-dim-not-multiple-of-8"},
      {576, 512, "mma by preferred"},
  };
  for (const auto& c : cases) {
    RouteRequest r = on("sm_80");
    r.problem.head_dim = c.d;
    r.problem.head_dim_v = c.dv;
    EXPECT_EQ(routed(r), c.expected) << c.d << " " << c.dv;
  }
}

TEST(Routing, ShortSequencesGoToTheFallbackUnderPolicyReferenceOnly) {
  const struct {
    int64_t nq, nk;
    bool is_short;
  } cases[] = {{1, 4096, false},   {7, 4096, false},   {8, 4096, true},   {511, 4096, true},
               {512, 4096, false}, {4096, 512, false}, {4096, 511, true}, {1, 511, true},
               {512, 512, false},  {1, 1, true}};
  for (const auto& c : cases) {
    RouteRequest r = on("sm_80");
    r.shape.seqlen_q = c.nq;
    r.shape.seqlen_k = c.nk;
    EXPECT_EQ(routed(r), "mma by preferred");
    r.policy = Policy::kReference;
    EXPECT_EQ(routed(r), c.is_short ? "sdpa by short-sequence" : "mma by preferred")
        << c.nq << " " << c.nk;
  }
}

TEST(Routing, ForcedFamily) {
  RouteRequest r = on("sm_90a");
  r.family = "mma";
  EXPECT_EQ(routed(r), "mma by forced");
  EXPECT_EQ(route(r, {}, kComplete).reason, "mma was asked for (by the call)");
  r.family = "sdpa";
  EXPECT_EQ(routed(r), "sdpa by sdpa-asked-for");
  r.family.clear();
  EXPECT_EQ(routed(r, with({{"FFPA_JIT_FAMILY", "mma"}})), "mma by forced");
  r.family = "wgmma";  // the call goes before the environment
  EXPECT_EQ(routed(r, with({{"FFPA_JIT_FAMILY", "mma"}})), "wgmma by forced");
}

TEST(Routing, ForcedFamilyThatCannotServeFallsBackWithItsReason) {
  RouteRequest r = on("sm_80");
  r.family = "wgmma";
  EXPECT_EQ(routed(r), "sdpa by forced-family-unavailable");
  EXPECT_EQ(
      route(r, {}, kComplete).reason,
      "wgmma was asked for (by the call) and cannot serve (wgmma: needs sm_90a); sdpa serves");
  r = on("cpu:x86-64");
  r.family = "mma";
  EXPECT_EQ(routed(r), "sdpa by forced-family-unavailable");
}

TEST(Routing, ForcingDoesNotLiftTheOtherRules) {
  RouteRequest r = on("sm_80");
  r.family = "mma";
  r.problem.head_dim = r.problem.head_dim_v = 64;
  EXPECT_EQ(routed(r, with({{"FFPA_TRITON_ALLOW_SMALL_D", "0"}})), "sdpa by small-d-disallowed");
  r.policy = Policy::kReference;
  r.shape.seqlen_q = 100;
  EXPECT_EQ(routed(r), "sdpa by short-sequence");
  r.family = "sdpa";
  EXPECT_EQ(routed(r), "sdpa by sdpa-asked-for");
}

TEST(Routing, UnknownFamilyIsAnErrorWithTheList) {
  RouteRequest r = on("sm_80");
  r.family = "flash";
  EXPECT_EQ(
      routed(r),
      "INVALID_ARGUMENT: family is \"flash\" (by the call); allowed: wgmma, mma, sdpa, portable");
  r.family.clear();
  EXPECT_EQ(routed(r, with({{"FFPA_JIT_FAMILY", "x"}})),
            "INVALID_ARGUMENT: family is \"x\" (by FFPA_JIT_FAMILY); allowed: wgmma, mma, sdpa, "
            "portable");
}

TEST(Routing, HostFallbackTakesWhatRulesSendThere) {
  RouteRequest r = on("sm_80");
  r.has_host_fallback = true;
  EXPECT_EQ(routed(r), "mma by preferred");
  r.problem.head_dim = 1100;
  EXPECT_EQ(routed(r), "fallback by head-dim-above-1024");
  EXPECT_THAT(route(r, {}, kComplete).reason, HasSubstr("head_dim 1100 / 512 is above 1024"));
  EXPECT_THAT(route(r, {}, kComplete).reason, HasSubstr("the host's fallback serves"));
  r.family = "sdpa";  // asked for by name: the family, not the callback
  EXPECT_EQ(routed(r), "sdpa by sdpa-asked-for");
  r = on("sm_75");
  r.has_host_fallback = true;
  EXPECT_EQ(routed(r), "sdpa by only-family");
}

TEST(Routing, ForceNoFallbackTurnsEveryFallBackIntoAnError) {
  const Environment force = with({{"FFPA_FORCE_NO_SDPA_FALLBACK", "1"}});
  const Environment force_small =
      with({{"FFPA_FORCE_NO_SDPA_FALLBACK", "1"}, {"FFPA_JIT_ALLOW_SMALL_D", "0"}});
  for (bool callback : {false, true}) {
    RouteRequest r = on("sm_80");
    r.has_host_fallback = callback;
    EXPECT_EQ(routed(r, force), "mma by preferred");
    r.problem.head_dim = r.problem.head_dim_v = 1536;
    EXPECT_EQ(routed(r, force),
              "UNSUPPORTED: routing rule head-dim-above-1024 would fall back (head_dim 1536 is "
              "above 1024, the most "
              "that own kernels take), which FFPA_FORCE_NO_SDPA_FALLBACK=1 forbids; unset it, or "
              "change what the rule "
              "names");
    r.problem.head_dim = r.problem.head_dim_v = 100;
    EXPECT_THAT(routed(r, force),
                HasSubstr("UNSUPPORTED: routing rule head-dim-not-multiple-of-8 "));
    r.problem.head_dim = r.problem.head_dim_v = 64;
    EXPECT_THAT(routed(r, force_small), HasSubstr("UNSUPPORTED: routing rule small-d-disallowed "));
    r.policy = Policy::kReference;
    r.shape.seqlen_k = 100;
    EXPECT_THAT(routed(r, force), HasSubstr("UNSUPPORTED: routing rule short-sequence "));
    r.family = "wgmma";
    r.policy = Policy::kNative;
    EXPECT_THAT(routed(r, force),
                HasSubstr("UNSUPPORTED: routing rule forced-family-unavailable "));
    r.family = "sdpa";
    EXPECT_EQ(routed(r, force), "sdpa by sdpa-asked-for");
  }
}

TEST(Routing, ForceNoFallbackHoldsForAFamilyAskedForByNameOnAnyTarget) {
  const Environment force = with({{"FFPA_FORCE_NO_SDPA_FALLBACK", "1"}});
  for (const char* target : {"sm_75", "cpu:x86-64"}) {  // where no own family serves at all
    RouteRequest r = on(target);
    r.family = "mma";
    EXPECT_EQ(routed(r), "sdpa by forced-family-unavailable");
    EXPECT_THAT(routed(r, force),
                HasSubstr("UNSUPPORTED: routing rule forced-family-unavailable "));
  }
}

TEST(Routing, WhereOnlySdpaKnowsTheTargetItIsNotAFallback) {
  const Environment force = with({{"FFPA_FORCE_NO_SDPA_FALLBACK", "1"}});
  for (const auto& [target, families] :
       {std::pair<const char*, std::span<const KernelFamily* const>>{"sm_75", kComplete},
        {"sm_90a", kOnlySdpa}}) {
    RouteRequest r = on(target);
    EXPECT_EQ(routed(r, {}, families), "sdpa by only-family");
    EXPECT_EQ(route(r, {}, families).reason,
              "sdpa is the family that this build has for " + std::string(target));
    r.has_host_fallback = true;
    EXPECT_EQ(routed(r, force, families), "sdpa by only-family");
    r.problem.head_dim = r.problem.head_dim_v = 1536;
    EXPECT_EQ(routed(r, force, families),
              "sdpa by head-dim-above-1024");  // no callback under FORCE
    EXPECT_EQ(routed(r, {}, families), "fallback by head-dim-above-1024");
    r.has_host_fallback = false;
    EXPECT_THAT(
        route(r, {}, families).reason,
        HasSubstr("; sdpa serves (this build has no own family for " + std::string(target) + ")"));
  }
}

TEST(Routing, OwnFamiliesThatRefuseTheProblemLeaveItToSdpa) {
  RouteRequest r = on("sm_90a");
  r.problem.dtype = DType::kFp32;
  EXPECT_EQ(routed(r), "sdpa by own-families-refuse");
  EXPECT_EQ(route(r, {}, kComplete).reason,
            "no own family for sm_90a serves this problem (wgmma: needs fp16 or bf16; mma: needs "
            "fp16 or bf16)");
  EXPECT_EQ(routed(r, with({{"FFPA_FORCE_NO_SDPA_FALLBACK", "1"}})), "sdpa by own-families-refuse");
}

TEST(Routing, TheRulesOfGpusDoNotApplyToTheCpu) {
  RouteRequest r = on("cpu:x86-64-v3");
  r.policy = Policy::kReference;
  r.has_host_fallback = true;
  const Environment no_small =
      with({{"FFPA_JIT_ALLOW_SMALL_D", "0"}, {"FFPA_FORCE_NO_SDPA_FALLBACK", "1"}});
  for (int d : {1, 64, 100, 512, 2048}) {
    r.problem.head_dim = r.problem.head_dim_v = d;
    r.shape.seqlen_q = r.shape.seqlen_k = 16;
    EXPECT_EQ(routed(r, no_small), "sdpa by only-family") << d;
  }
}

TEST(Routing, LastResort) {
  RouteRequest r = on("cpu:x86-64");
  r.problem.head_dim = 2048;
  r.problem.softcap = true;
  EXPECT_EQ(routed(r), "portable by last-resort");
  r.problem.softcap = false;
  EXPECT_EQ(routed(r), "sdpa by only-family");
  r.family = "portable";
  EXPECT_EQ(routed(r), "portable by forced");
}

TEST(Routing, NothingServes) {
  const RouteRequest r = on("gfx942");
  EXPECT_EQ(routed(r),
            "UNSUPPORTED: no kernel family serves \"forward bf16 d=512 dv=512 group=1 "
            "layout=bhnd\" on gfx942: wgmma: "
            "needs sm_90a; mma: needs sm_80 or later; sdpa: needs CUDA; sdpa: needs the CPU; "
            "portable: needs the CPU; "
            "change the problem or the device");
  EXPECT_THAT(routed(r, {}, {}), HasSubstr("this build has none"));
  RouteRequest asked = r;
  asked.family = "sdpa";
  EXPECT_THAT(routed(asked), HasSubstr("UNSUPPORTED: no kernel family serves"));
  asked.problem.head_dim = 1100;
  asked.family.clear();
  EXPECT_THAT(routed(asked), HasSubstr("UNSUPPORTED: no kernel family serves"));
}

TEST(Routing, BrokenProblemsAreErrorsNotFallbacks) {
  RouteRequest r = on("sm_80");
  r.has_host_fallback = true;
  r.problem.dtype = DType::kInt32;
  EXPECT_EQ(routed(r), "INVALID_ARGUMENT: dtype is int32; allowed: fp32, fp16, bf16");
}

TEST(RoutingRules, EveryRuleIsDescribedAndHasItsOwnName) {
  std::set<std::string_view> names;
  for (const RuleDescription& rule : routing_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.condition.empty());
    EXPECT_FALSE(rule.effect.empty());
  }
  EXPECT_EQ(names.size(), 11u);
}

TEST(RoutingRules, TheDocumentHasThemInTheirOrder) {
  std::ifstream file(std::filesystem::path(FFPA_JIT_SOURCE_DIR) / "docs/routing.md");
  std::vector<std::string> documented, rules;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) documented.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  for (const RuleDescription& rule : routing_rules()) rules.emplace_back(rule.name);
  EXPECT_EQ(documented, rules);
}

}  // namespace
}  // namespace ffpa_jit
