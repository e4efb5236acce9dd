#include "compile/nvrtc.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "compile/compile_thread.h"
#include "compile/failure.h"
#include "compile/nvrtc_library.h"
#include "compile/ptxas_report.h"

namespace ffpa_jit {
namespace {

int stop_when_cancelled(void* cancelled, void*) {
  return static_cast<const std::atomic<bool>*>(cancelled)->load() ? 1 : 0;
}

// The file has the last word: the text is a report about it, and the only one about spills.
KernelResources resources_of(const NvrtcOutput& output, const std::string& entry,
                             const KernelSource& source, const std::string& identity) {
  const std::optional<KernelResources> in_file =
      resources_in_cubin(output.cubin, entry, source.target.compute_capability());
  if (!in_file) throw_missing_entry(identity, source, output.log);
  KernelResources out = *in_file;
  const KernelResources in_text = resources_in_ptxas_text(output.log, entry);
  out.spill_bytes = in_text.spill_bytes;
  if (out.registers < 0) out.registers = in_text.registers;
  if (out.local_bytes < 0) out.local_bytes = in_text.local_bytes;
  return out;
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(std::shared_ptr<const NvrtcLibrary> library)
    : library_(std::move(library)) {}

const std::string& NvrtcCompiler::identity() const { return library_->identity(); }

bool NvrtcCompiler::supports(const Target& target) const {
  const std::vector<std::string>& all = library_->targets();
  return target.kind == TargetKind::kCuda &&
         std::find(all.begin(), all.end(), target.arch) != all.end();
}

std::vector<std::string> NvrtcCompiler::targets() const { return library_->targets(); }

KernelBinary NvrtcCompiler::compile(const KernelSource& source, const CompileLimits& limits) {
  if (!supports(source.target)) throw_unsupported_target(*this, source.target);
  auto output = std::make_shared<NvrtcOutput>();
  const CompileEnd end = run_compile(
      limits, [output, library = library_, text = source.text,
               options = library_->options(source.target)](const std::atomic<bool>& cancelled) {
        *output = library->compile(text, options, stop_when_cancelled,
                                   const_cast<std::atomic<bool>*>(&cancelled));
      });
  if (end != CompileEnd::kFinished) throw_unfinished(end, identity(), source, limits);
  if (output->result == kNvrtcOutOfMemory) {
    throw_error(FFPA_JIT_OUT_OF_MEMORY, "{} ran out of memory on {} for {}", identity(),
                source.template_name, text_of(source.target));
  }
  if (output->result != kNvrtcSuccess) {
    throw_refused(identity(), source,
                  output->log.empty() ? library_->error_text(output->result) : output->log);
  }
  KernelBinary binary;
  binary.format = BinaryFormat::kCubin;
  binary.entry = source.entry;
  binary.compiler = identity();
  binary.resources = resources_of(*output, source.entry, source, identity());
  binary.log = without_ptxas_report(output->log);
  binary.bytes = std::move(output->cubin);
  return binary;
}

}  // namespace ffpa_jit
