// Finding and loading NVRTC, and asking it what it is: version, architectures, which options it
// knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/dynamic_library.h"
#include "compile/nvrtc_api.h"
#include "problem/target.h"

namespace ffpa_jit {

// What one call of NVRTC gave.
struct NvrtcOutput {
  int result = kNvrtcSuccess;
  std::vector<std::byte> cubin;  // empty unless result is kNvrtcSuccess
  std::string log;
};

// Loaded once, kept mapped until the process ends. Thread-safe.
class NvrtcLibrary {
 public:
  // `chosen` if given (a library, or a directory that holds one: a toolkit, a Python
  // site-packages), and nothing else then; otherwise the loader's names, newest first, then
  // /usr/local/cuda*. nullptr with a reason where none loads, or the one that loads is older
  // than 12.0.
  static std::shared_ptr<const NvrtcLibrary> load(const std::string& chosen, std::string* reason);

  const std::string& identity() const { return identity_; }  // "nvrtc 13.0.88"
  const std::string& path() const { return library_.name(); }
  // Canonical target texts, a subset of architectures(TargetKind::kCuda).
  const std::vector<std::string>& targets() const { return targets_; }
  // compile_options() without those that this version does not know.
  std::vector<std::string> options(const Target& target) const;

  // `flow` may be null; `payload` is passed to it.
  NvrtcOutput compile(const std::string& source, const std::vector<std::string>& options,
                      NvrtcFlowCallback flow, void* payload) const;
  std::string error_text(int result) const;

 private:
  explicit NvrtcLibrary(DynamicLibrary library) : library_(std::move(library)) {}
  bool bind(std::string* reason);
  void find_targets();
  // One empty kernel tells which options exist, and the exact version (the library itself gives
  // only 13.0).
  bool probe(std::string* reason);

  DynamicLibrary library_;
  NvrtcApi api_{};
  int major_ = 0, minor_ = 0;
  std::string identity_;
  std::vector<std::string> targets_;
  std::vector<std::string> unknown_options_;
};

}  // namespace ffpa_jit
