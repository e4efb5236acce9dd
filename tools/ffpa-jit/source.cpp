// ffpa-jit source: the generated text of a problem's kernels, and their machine code where a
// disassembler is installed.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "ffpa-jit/device_choice.h"
#include "ffpa-jit/disassembly.h"
#include "ffpa-jit/inspection.h"
#include "ffpa-jit/session.h"

namespace ffpa_jit::cli {
namespace {

struct SourceOptions {
  DeviceFlags device;
  ProblemFlags problem;
  bool machine_code = false;
};

int source(const Session& session, const SourceOptions& options) {
  const ProblemSpec spec = options.problem.spec();
  const ffpa::Runtime runtime = open_runtime(session);
  const auto [ref, device] = options.device.choose(runtime);
  const Inspection seen = inspect(runtime, DescribedProblem(spec, ref).call(), device);
  Json kernels = Json::array();
  for (size_t i = 0; i < seen.planned.sources.size(); ++i) {
    const PlanStep& step = seen.planned.plan.steps[i];
    if (step.builtin) {
      fmt::print(stderr, "kernel {}: compiled into the library, there is no generated source\n",
                 step.entry);
      continue;
    }
    const KernelSource& text = seen.planned.sources[i];
    Json kernel{{"template", step.template_name},
                {"entry", step.entry},
                {"target", text_of(text.target)},
                {"key", seen.keys[i]},
                {"source", text.text}};
    std::string shown = text.text;
    if (options.machine_code) {
      const ProvidedKernel made = inside(runtime).kernels().find_or_compile(
          text, {seen.family, text_of(seen.problem), seen.config});
      const Disassembly code = disassemble(made.binary);
      kernel["machine_code"] = code.text.empty() ? Json(nullptr) : Json(code.text);
      kernel["machine_code_absent"] = code.absent;
      kernel["resources"] = text_of(made.binary.resources);
      if (code.text.empty()) fmt::print(stderr, "no machine code: {}\n", code.absent);
      shown = code.text;
    }
    if (!session.json) fmt::print("{}", shown);
    kernels.push_back(std::move(kernel));
  }
  if (session.json) {
    print_json({{"family", seen.family},
                {"config", seen.config},
                {"problem", text_of(seen.problem)},
                {"kernels", kernels}});
  }
  return kOk;
}

}  // namespace

void add_source_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<SourceOptions>();
  CLI::App* command = app.add_subcommand("source",
                                         "Print the generated source of a problem's kernels, or "
                                         "their machine code (SASS through nvdisasm or cuobjdump,\n"
                                         "x86 through objdump, where one of them is installed).");
  options->device.add_to(*command);
  command->add_flag("--machine-code", options->machine_code,
                    "Compile (or take from the cache), then disassemble");
  options->problem.add_to(*command);
  add_common_options(*command, session);
  command->footer("Example: ffpa-jit source --target sm_90a --head-dim 512 --causal > kernel.cu");
  command->callback([options, &session] {
    session.action = [options, &session] { return source(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
