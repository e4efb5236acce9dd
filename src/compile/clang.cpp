#include "compile/clang.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "compile/clang_plugin.h"
#include "compile/compile_options.h"
#include "compile/compile_thread.h"
#include "compile/elf_image.h"
#include "compile/failure.h"

namespace ffpa_jit {
namespace {

constexpr const char* kFileName = "ffpa_jit.cpp";  // constant: it reaches messages

constexpr std::array kImports = {"memcpy", "memmove", "memset", "memcmp"};

struct Output {
  ffpa_jit_clang_status status = FFPA_JIT_CLANG_OUT_OF_MEMORY;
  std::vector<std::byte> image;
  std::string log;
};

int stop_when_cancelled(void* cancelled) {
  return static_cast<const std::atomic<bool>*>(cancelled)->load() ? 1 : 0;
}

Output call_plugin(const ffpa_jit_clang_api& api, const std::string& text,
                   const std::vector<std::string>& options, const std::vector<const char*>& link,
                   const std::atomic<bool>& cancelled) {
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const ffpa_jit_clang_request request{
      text.c_str(),        kFileName,
      arguments.data(),    arguments.size(),
      link.data(),         link.size(),
      kImports.data(),     kImports.size(),
      stop_when_cancelled, const_cast<std::atomic<bool>*>(&cancelled)};
  const std::unique_ptr<ffpa_jit_clang_result, void (*)(ffpa_jit_clang_result*)> result(
      api.compile(&request), api.free_result);
  if (!result) return {};
  Output out{result->status, {}, result->log};
  out.image.resize(result->image_bytes);
  if (result->image_bytes) std::memcpy(out.image.data(), result->image, result->image_bytes);
  while (out.log.ends_with('\n')) out.log.pop_back();
  return out;
}

// nullopt: the image does not export `entry`.
std::optional<KernelResources> resources_in_image(std::span<const std::byte> image,
                                                  const std::string& entry) {
  const std::optional<ElfImage> elf = ElfImage::parse(image);
  if (!elf) return std::nullopt;
  const std::vector<ElfSymbol> exported = elf->symbols(".dynsym");
  const bool found = std::any_of(exported.begin(), exported.end(), [&](const ElfSymbol& symbol) {
    return symbol.defined && symbol.name == entry;
  });
  if (!found) return std::nullopt;
  KernelResources out;
  if (const ElfSection* code = elf->section(".text")) {
    out.code_bytes = static_cast<int64_t>(code->size);
  }
  return out;
}

}  // namespace

ClangCompiler::ClangCompiler(std::shared_ptr<const ClangPlugin> plugin)
    : plugin_(std::move(plugin)), identity_(plugin_->api().identity) {}

bool ClangCompiler::supports(const Target& target) const { return !clang_options(target).empty(); }

std::vector<std::string> ClangCompiler::targets() const {
  std::vector<std::string> out;
  for (TargetKind kind : {TargetKind::kCpu, TargetKind::kEmulator}) {
    for (std::string_view arch : architectures(kind)) {
      const Target target{kind, std::string(arch)};
      if (supports(target)) out.push_back(text_of(target));
    }
  }
  return out;
}

KernelBinary ClangCompiler::compile(const KernelSource& source, const CompileLimits& limits) {
  if (!supports(source.target)) throw_unsupported_target(*this, source.target);
  auto output = std::make_shared<Output>();
  const CompileEnd end = run_compile(
      limits, [output, plugin = plugin_, text = source.text, options = clang_options(source.target),
               link = link_options(source.target)](const std::atomic<bool>& cancelled) {
        *output = call_plugin(plugin->api(), text, options, link, cancelled);
      });
  if (end != CompileEnd::kFinished) throw_unfinished(end, identity_, source, limits);
  switch (output->status) {
    case FFPA_JIT_CLANG_OK:
      break;
    case FFPA_JIT_CLANG_OUT_OF_MEMORY:
      throw_error(FFPA_JIT_OUT_OF_MEMORY, "{} ran out of memory on {} for {}", identity_,
                  source.template_name, text_of(source.target));
    case FFPA_JIT_CLANG_CRASHED:
      throw_error(FFPA_JIT_COMPILE_FAILED, "{} failed inside on {} for {}:\n{}", identity_,
                  source.template_name, text_of(source.target), output->log);
    case FFPA_JIT_CLANG_REFUSED:
    case FFPA_JIT_CLANG_STOPPED:
      throw_refused(identity_, source, output->log);
  }
  const std::optional<KernelResources> resources = resources_in_image(output->image, source.entry);
  if (!resources) throw_missing_entry(identity_, source, output->log);
  KernelBinary binary;
  binary.bytes = std::move(output->image);
  binary.format = BinaryFormat::kElfSharedObject;
  binary.entry = source.entry;
  binary.resources = *resources;
  binary.compiler = identity_;
  binary.log = std::move(output->log);
  return binary;
}

}  // namespace ffpa_jit
