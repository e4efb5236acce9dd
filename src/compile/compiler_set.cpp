// CompilerSet: which compiler builds for which target, and what to say when there is none.
#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "compile/clang.h"
#include "compile/clang_plugin.h"
#include "compile/compiler.h"
#include "compile/nvrtc.h"
#include "compile/nvrtc_library.h"

namespace ffpa_jit {
namespace {

std::unique_ptr<Compiler> load_nvrtc(const CompilerLibraries& libraries, std::string* reason) {
  auto library = NvrtcLibrary::load(libraries.nvrtc, reason);
  return library ? std::make_unique<NvrtcCompiler>(std::move(library)) : nullptr;
}

std::unique_ptr<Compiler> load_clang(const CompilerLibraries& libraries, std::string* reason) {
  auto plugin = ClangPlugin::load(libraries.clang_plugin, reason);
  return plugin ? std::make_unique<ClangCompiler>(std::move(plugin)) : nullptr;
}

struct Kind {
  const char* name;
  std::array<TargetKind, 2> targets;
  std::unique_ptr<Compiler> (*load)(const CompilerLibraries& libraries, std::string* reason);
  const char* remedy;
};

constexpr std::array<Kind, 2> kKinds = {{
    {"nvrtc",
     {TargetKind::kCuda, TargetKind::kCuda},
     load_nvrtc,
     "install NVRTC 12.0 or newer (part of the CUDA toolkit; or pip install nvidia-cuda-nvrtc) "
     "and, unless it lies "
     "in /usr/local/cuda, point FFPA_JIT_NVRTC at the library or its directory"},
    {"clang",
     {TargetKind::kCpu, TargetKind::kEmulator},
     load_clang,
     "install LLVM 22 (Debian 12: apt install libclang-cpp22 libllvm22) and libffpa_jit_clang.so "
     "beside the library, "
     "or point FFPA_JIT_CLANG_PLUGIN at it"},
}};

}  // namespace

struct CompilerSet::State {
  struct Slot {
    std::once_flag once;
    std::unique_ptr<Compiler> compiler;
    std::string reason;
  };
  Logger log;
  CompilerLibraries libraries;
  std::array<Slot, kKinds.size()> slots;

  Slot& loaded(size_t index) {
    Slot& slot = slots[index];
    std::call_once(slot.once, [&] {
      slot.compiler = kKinds[index].load(libraries, &slot.reason);
      if (slot.compiler) {
        log->debug("compiler: {}", slot.compiler->identity());
      } else {
        log->debug("no compiler {}: {}", kKinds[index].name, slot.reason);
      }
    });
    return slot;
  }
};

CompilerSet::CompilerSet(Logger log, CompilerLibraries libraries)
    : state_(std::make_unique<State>()) {
  state_->log = log ? std::move(log) : null_logger();
  state_->libraries = std::move(libraries);
}

CompilerSet::~CompilerSet() = default;

Compiler* CompilerSet::find(const Target& target, std::string* reason) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (std::find(kKinds[i].targets.begin(), kKinds[i].targets.end(), target.kind) ==
        kKinds[i].targets.end())
      continue;
    State::Slot& slot = state_->loaded(i);
    if (slot.compiler && slot.compiler->supports(target)) return slot.compiler.get();
    if (reason && !slot.compiler) {
      *reason = slot.reason + "; " + kKinds[i].remedy;
    } else if (reason) {
      *reason = fmt::format("{} does not build for {}; it builds for:", slot.compiler->identity(),
                            text_of(target));
      for (const std::string& text : slot.compiler->targets()) *reason += " " + text;
    }
    return nullptr;
  }
  if (reason) *reason = "no compiler of this version builds for it";
  return nullptr;
}

Compiler& CompilerSet::for_target(const Target& target) {
  std::string reason;
  if (Compiler* compiler = find(target, &reason)) return *compiler;
  throw_error(FFPA_JIT_NO_COMPILER, "no compiler for {}: {}", text_of(target), reason);
}

std::vector<CompilerStatus> CompilerSet::status() {
  std::vector<CompilerStatus> out;
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const State::Slot& slot = state_->loaded(i);
    CompilerStatus status{kKinds[i].name, "", "", ""};
    if (slot.compiler) {
      status.identity = slot.compiler->identity();
    } else {
      status.reason = slot.reason;
      status.remedy = kKinds[i].remedy;
    }
    out.push_back(std::move(status));
  }
  return out;
}

}  // namespace ffpa_jit
