// ffpa-jit verify: a grid of small problems, one per feature, on a device, against the fp64
// reference.
#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "ffpa-jit/check.h"
#include "ffpa-jit/execution.h"
#include "ffpa-jit/session.h"

namespace ffpa_jit::cli {
namespace {

struct VerifyOptions {
  std::string device = "cpu";
  std::vector<std::string> dtypes = {"fp32", "fp16", "bf16"};
  std::vector<int64_t> head_dims = {64};
  std::string family;
  std::optional<uint64_t> seed;
};

struct Feature {
  std::string_view name;
  void (*edit)(ProblemSpec& spec);
};
// Lengths are no multiple of any tile; every row also asks for the LSE.
constexpr std::array<Feature, 25> kFeatures = {{
    {"plain", [](ProblemSpec&) {}},
    {"causal", [](ProblemSpec& s) { s.causal = true; }},
    {"causal, more keys", [](ProblemSpec& s) { s.causal = true, s.seqlen_q = 19; }},
    {"window", [](ProblemSpec& s) { s.window_left = 11, s.window_right = 5; }},
    {"causal window", [](ProblemSpec& s) { s.causal = true, s.window_left = 7; }},
    {"mask", [](ProblemSpec& s) { s.mask = parse_mask("bool"); }},
    {"mask per key", [](ProblemSpec& s) { s.mask = parse_mask("bool:b11k"); }},
    {"bias", [](ProblemSpec& s) { s.mask = parse_mask("bias"); }},
    {"bias, causal, broadcast",
     [](ProblemSpec& s) { s.mask = parse_mask("bias:1hqk"), s.causal = true; }},
    {"gqa", [](ProblemSpec& s) { s.heads = 6, s.kv_heads = 2; }},
    {"mqa, causal", [](ProblemSpec& s) { s.heads = 5, s.kv_heads = 1, s.causal = true; }},
    {"dropout", [](ProblemSpec& s) { s.dropout = 0.3; }},
    {"softcap", [](ProblemSpec& s) { s.softcap = 5; }},
    {"decode", [](ProblemSpec& s) { s.seqlen_q = 1, s.causal = true; }},
    {"bnhd", [](ProblemSpec& s) { s.layout = Layout::kBnhd; }},
    {"varlen, causal",
     [](ProblemSpec& s) { s.layout = Layout::kVarlen, s.batch = 4, s.causal = true; }},
    {"modifier: alibi",
     [](ProblemSpec& s) {
       s.features.score_modifier = "score - exp2(-8 * (h + 1) / nh) * abs(q + nk - nq - k)";
     }},
    {"modifier: documents",
     [](ProblemSpec& s) {
       s.features.score_modifier = "t0[b, q] == t0[b, k] ? score : -inf";
       s.features.modifier_tensors = {"t0=int32:b,k"};
     }},
    {"modifier: relative bias",
     [](ProblemSpec& s) {
       s.features.score_modifier = "score + t0[h, min(max(q + nk - nq - k + 9, 0), 18)]";
       s.features.modifier_tensors = {"t0=fp32:h,19"};
       s.causal = true;
     }},
    {"sinks", [](ProblemSpec& s) { s.features.sinks = true, s.window_left = 20; }},
    {"lengths, causal", [](ProblemSpec& s) { s.features.seqlens_k = s.causal = true; }},
    {"pages", [](ProblemSpec& s) { s.features.page_size = 16, s.layout = Layout::kBnhd; }},
    {"pages, decode",
     [](ProblemSpec& s) {
       s.features.page_size = 16, s.features.sinks = true;
       s.heads = 6, s.kv_heads = 2, s.seqlen_q = 1, s.causal = true;
     }},
    {"other value dim", [](ProblemSpec& s) { s.head_dim_v = s.head_dim / 2 + 1; }},
    {"odd head dim", [](ProblemSpec& s) { s.head_dim += 3; }},
}};

int verify(const Session& session, const VerifyOptions& options) {
  const DeviceRef device = parse_device(options.device);
  ffpa::Runtime runtime = open_runtime(session);
  const std::shared_ptr<Device> copying = copying_device(runtime, device);
  const uint64_t seed = options.seed.value_or(fresh_seed());
  Table table({{"feature"},
               {"problem"},
               {"family"},
               {"cache"},
               {"error", true},
               {"tolerance", true},
               {"lse error", true},
               {"ok"}});
  Executor executor(runtime);
  int problems = 0, wrong = 0, refused = 0;
  for (const std::string& dtype : options.dtypes) {
    for (const int64_t head_dim : options.head_dims) {
      for (const Feature& feature : kFeatures) {
        ProblemSpec spec;
        spec.dtype = dtype_of(dtype).value();
        spec.batch = 2;
        spec.heads = 3;
        spec.seqlen_q = spec.seqlen_k = 67;
        spec.head_dim = head_dim;
        spec.lse = true;
        spec.family = options.family;
        feature.edit(spec);
        ++problems;
        const auto problem = generate_problem(spec, device, seed + static_cast<uint64_t>(problems));
        Json out{{"feature", feature.name}, {"name", problem->name}, {"seed", *problem->seed}};
        try {
          OnDevice on_device(*problem, copying);
          const Execution done = executor.execute(on_device, 1);
          const Check checked = check(*problem, CheckRows::kAll, seed);
          wrong += !checked.ok;
          out.update(done.json());
          out["rel_error"] = checked.rel_error;
          out["tolerance"] = checked.tolerance;
          out["lse_error"] = *checked.lse_error;
          out["lse_tolerance"] = checked.lse_tolerance;
          out["checked_rows"] = checked.checked_rows;
          out["ok"] = checked.ok;
          table.add({std::string(feature.name), problem->name, done.family,
                     done.cache_hit ? "hit" : "miss", fmt::format("{:.2e}", checked.rel_error),
                     fmt::format("{:.2e}", checked.tolerance),
                     fmt::format("{:.2e}", *checked.lse_error),
                     checked.ok ? good("yes") : bad("NO")});
        } catch (const ffpa::Error& error) {
          if (error.status() != FFPA_JIT_UNSUPPORTED) throw;
          ++refused;
          out["refused"] = error.what();
          table.add({std::string(feature.name), problem->name, "-", "-", "-", "-", "-", "refused"});
        }
        if (session.json) print_json(out);
      }
    }
  }
  if (!session.json) table.print();
  fmt::print(stderr, "{} problems: {} right, {} wrong, {} refused; seed {}\n", problems,
             problems - wrong - refused, wrong, refused, seed);
  return wrong ? kFailed : refused == problems ? kUnavailable : kOk;
}

}  // namespace

void add_verify_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify",
                         "Run a grid of small problems, one per feature and element type, on a "
                         "device and compare each with the fp64\n"
                         "reference. Exit code 1 when one is out of tolerance.");
  command->add_option("--device", options->device, "cpu, cuda, cuda:N")
      ->capture_default_str()
      ->type_name("DEVICE");
  command->add_option("--dtype", options->dtypes, "Element types")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->type_name("LIST");
  command->add_option("--head-dim", options->head_dims, "Head dims")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::Range(2, 2045))
      ->type_name("LIST");
  command->add_option("--family", options->family, "Kernel family (default: routed)")
      ->type_name("NAME");
  command->add_option("--seed", options->seed, "Seed of the inputs (default: random, printed)")
      ->type_name("S");
  add_common_options(*command, session);
  command->callback([options, &session] {
    session.action = [options, &session] { return verify(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
