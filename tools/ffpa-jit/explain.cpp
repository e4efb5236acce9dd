// ffpa-jit explain: which family serves a problem, by which rule, with which config, and what would
// change that.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "ffpa-jit/device_choice.h"
#include "ffpa-jit/inspection.h"
#include "ffpa-jit/session.h"
#include "plan/shape_class.h"
#include "policy/routing.h"

namespace ffpa_jit::cli {
namespace {

struct ExplainOptions {
  DeviceFlags device;
  ProblemFlags problem;
};

// How a request would be answered; an error is an answer too.
struct Answer {
  std::string family, rule, reason;
};

Answer answer_of(const RouteRequest& request, const Environment& environment) {
  try {
    const Route route = ffpa_jit::route(request, environment, kernel_families());
    return {route.family ? std::string(route.family->name()) : "fallback", std::string(route.rule),
            route.reason};
  } catch (const Error& error) {
    return {"error", std::string(ffpa_jit_status_name(error.code())), error.what()};
  }
}

// Everything a user could turn: each is tried, and listed when the answer differs.
class Alternatives {
 public:
  Alternatives(const ProblemSpec& spec, const DeviceRef& ref, const RouteRequest& request,
               const Environment& environment)
      : spec_(spec),
        ref_(ref),
        request_(request),
        environment_(environment),
        now_(answer_of(request, environment)) {}

  Json collect() {
    const auto change_spec = [&](const std::string& change, auto&& edit) {
      ProblemSpec spec = spec_.resolved();
      edit(spec);
      try {
        const AttentionCall call = DescribedProblem(spec, ref_).call();
        RouteRequest request = request_;
        request.problem = call.problem;
        request.shape = canonical_shape(call.problem, call.shape);
        consider(change, request, environment_);
      } catch (const Error&) {  // not a problem at all
      }
    };
    for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16}) {
      if (dtype != spec_.dtype) {
        change_spec(fmt::format("--dtype {}", name_of(dtype)),
                    [&](ProblemSpec& s) { s.dtype = dtype; });
      }
    }
    change_spec("--seqlen-q 1 (decode)", [](ProblemSpec& s) { s.seqlen_q = 1; });
    change_spec("--seqlen-q 512 --seqlen-k 512, or longer", [](ProblemSpec& s) {
      s.seqlen_q = std::max<int64_t>(512, s.seqlen_q),
      s.seqlen_k = std::max(s.seqlen_q, s.seqlen_k);
    });
    if (spec_.head_dim % 8 != 0) {
      change_spec(fmt::format("--head-dim {} (a multiple of 8)", (spec_.head_dim + 7) / 8 * 8),
                  [](ProblemSpec& s) { s.head_dim = s.head_dim_v = (s.head_dim + 7) / 8 * 8; });
    }
    if (spec_.head_dim > 1024)
      change_spec("--head-dim 1024 or less",
                  [](ProblemSpec& s) { s.head_dim = s.head_dim_v = 1024; });
    if (spec_.head_dim <= 256)
      change_spec("--head-dim 320 or more",
                  [](ProblemSpec& s) { s.head_dim = s.head_dim_v = 320; });
    if (spec_.mask.kind != MaskKind::kNone)
      change_spec("no --mask", [](ProblemSpec& s) { s.mask = {}; });
    if (spec_.dropout > 0) change_spec("no --dropout", [](ProblemSpec& s) { s.dropout = 0; });
    if (spec_.softcap > 0) change_spec("no --softcap", [](ProblemSpec& s) { s.softcap = 0; });
    if (spec_.layout != Layout::kBhnd)
      change_spec("--layout bhnd", [](ProblemSpec& s) { s.layout = Layout::kBhnd; });

    std::set<std::string_view> names;  // families of other devices may share a name
    for (const KernelFamily* family : kernel_families()) names.insert(family->name());
    for (const std::string_view name : names) {
      if (name == request_.family) continue;
      RouteRequest request = request_;
      request.family = name;
      if (answer_of(request, environment_).family != "error")
        consider(fmt::format("--family {}", name), request, environment_);
    }
    for (const Policy policy : {Policy::kNative, Policy::kReference}) {
      RouteRequest request = request_;
      request.policy = policy;
      consider(fmt::format("FFPA_JIT_POLICY={}", name_of(policy)), request, environment_);
    }
    Environment environment = environment_;
    environment.allow_small_d = !environment_.allow_small_d;
    consider(fmt::format("FFPA_JIT_ALLOW_SMALL_D={}", environment.allow_small_d ? 1 : 0), request_,
             environment);
    environment = environment_;
    environment.force_no_fallback = !environment_.force_no_fallback;
    consider(fmt::format("FFPA_FORCE_NO_SDPA_FALLBACK={}", environment.force_no_fallback ? 1 : 0),
             request_, environment);
    return std::move(out_);
  }

 private:
  void consider(const std::string& change, const RouteRequest& request,
                const Environment& environment) {
    const Answer then = answer_of(request, environment);
    if (then.family == now_.family) return;
    out_.push_back({{"change", change},
                    {"family", then.family},
                    {"route", then.rule},
                    {"reason", then.reason}});
  }

  const ProblemSpec& spec_;
  DeviceRef ref_;
  const RouteRequest& request_;
  const Environment& environment_;
  Answer now_;
  Json out_ = Json::array();
};

void print_text(const Json& out) {
  fmt::print("{:<9}{} ({})\n", "device", out["device"].get<std::string>(),
             out["device_name"].get<std::string>());
  for (const char* field :
       {"target", "problem", "shape", "family", "route", "reason", "config", "tuning", "cache"}) {
    fmt::print("{:<9}{}\n", field, out[field].get<std::string>());
  }
  fmt::print("\nfamilies, in order of preference:\n");
  Table families({{"  family"}, {"verdict"}});
  for (const Json& each : out["families"]) {
    families.add(
        {"  " + each["family"].get<std::string>(),
         each["serves"].get<bool>() ? "serves" : "refuses: " + each["reason"].get<std::string>()});
  }
  families.print();
  fmt::print("\nwhat would change the choice:\n");
  if (out["changes"].empty())
    fmt::print("  nothing that was tried: dtype, lengths, dims, masks, dropout, family, policy\n");
  for (const Json& each : out["changes"]) {
    fmt::print("  {}: {} ({})\n", each["change"].get<std::string>(),
               each["family"].get<std::string>(), each["reason"].get<std::string>());
  }
}

int explain(const Session& session, const ExplainOptions& options) {
  const ProblemSpec spec = options.problem.spec();
  const ffpa::Runtime runtime = open_runtime(session);
  const auto [ref, device] = options.device.choose(runtime);
  const Inspection seen = inspect(runtime, DescribedProblem(spec, ref).call(), device);
  Json out = seen.json();
  out["device_name"] = device.name;
  out["families"] = Json::array();
  for (const FamilyVerdict& verdict : seen.planned.route.verdicts) {
    // One name may stand for a family per kind of device: the one that serves speaks for the name.
    const auto same =
        std::find_if(out["families"].begin(), out["families"].end(),
                     [&](const Json& each) { return each["family"] == verdict.family; });
    const Json row{
        {"family", verdict.family}, {"serves", verdict.serves}, {"reason", verdict.reason}};
    if (same == out["families"].end()) {
      out["families"].push_back(row);
    } else if (verdict.serves) {
      *same = row;
    }
  }
  out["rules"] = Json::array();
  for (const RuleDescription& rule : routing_rules()) {
    out["rules"].push_back({{"name", rule.name},
                            {"condition", rule.condition},
                            {"effect", rule.effect},
                            {"applied", rule.name == seen.planned.route.rule}});
  }
  RouteRequest request;
  request.problem = seen.problem;
  request.shape = canonical_shape(seen.problem, seen.shape);
  request.target = device.target;
  request.family = spec.family;
  request.policy = inside(runtime).options().policy;
  out["changes"] =
      Alternatives(spec, ref, request, inside(runtime).options().environment).collect();
  if (session.json) {
    print_json(out);
  } else {
    print_text(out);
  }
  return kOk;
}

}  // namespace

void add_explain_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "Say which kernel family serves a problem, by which rule, with which config, and what would "
      "change that.\n"
      "Compiles nothing and needs no GPU: with --target, for a device that is not here.");
  options->device.add_to(*command);
  options->problem.add_to(*command);
  add_common_options(*command, session);
  command->footer("Example: ffpa-jit explain --target sm_90a --dtype bf16 --head-dim 512 --causal");
  command->callback([options, &session] {
    session.action = [options, &session] { return explain(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
