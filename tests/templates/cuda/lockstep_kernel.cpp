#include "templates/cuda/lockstep_kernel.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "templates/cuda/render_for_host.h"

namespace ffpa_jit::testing {
namespace {

namespace fs = std::filesystem;

std::string contents_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

LockstepKernel::LockstepKernel(const PlanStep& step) {
  std::string pattern = (fs::temp_directory_path() / "ffpa_lockstep_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw_error(FFPA_JIT_IO_ERROR, "mkdtemp {} failed", pattern);
  const fs::path folder = pattern;
  {
    std::ofstream source(folder / "kernel.cpp");
    source << "#include \"templates/cuda/lockstep.h\"\n"
           << render_for_host(step) << "\n#include \"templates/cuda/lockstep_entry.h\"\n";
  }
  // No contraction: fma is asked for where it is meant.
  const std::string command = fmt::format(
      "{0} -std=c++20 -O1 -ffp-contract=off -fno-strict-aliasing -w -shared -fPIC -I{1} -o "
      "{2}/kernel.so "
      "{2}/kernel.cpp -lboost_context > {2}/log 2>&1",
      FFPA_TEST_CXX, FFPA_TEST_SOURCE_DIR, folder.string());
  const int status = std::system(command.c_str());
  std::string reason = contents_of(folder / "log");
  if (status == 0) {
    if (auto library = DynamicLibrary::open({(folder / "kernel.so").string()}, &reason)) {
      library_ = std::make_unique<DynamicLibrary>(std::move(*library));
    }
  }
  fs::remove_all(folder);
  if (!library_) {
    throw_error(FFPA_JIT_COMPILE_FAILED, "{} for the host does not compile:\n{}",
                step.template_name, reason.substr(0, 4000));
  }
}

bool LockstepKernel::run(const ForwardParams& params, const LaunchGeometry& geometry,
                         bool reversed) const {
  using Run = bool (*)(const void*, unsigned, unsigned, bool);
  const auto run = reinterpret_cast<Run>(library_->symbol("lockstep_run"));
  return run(&params, geometry.grid.x, geometry.block.x, reversed);
}

}  // namespace ffpa_jit::testing
