// ProblemRecord: the problems that a host really ran, one JSON line each, in the file that
// FFPA_JIT_RECORD names; read by `ffpa-jit tune --from`. Called by the Runtime once per plan it
// makes.
#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "runtime/attention_call.h"

namespace ffpa_jit {

// {"device": "cuda:0", "problem": "forward bf16 ...", "shape": {"batch": 1, ...}, "window": [-1,
// 0], "softcap": 0, "dropout": 0, "family": ""}
std::string record_line(const AttentionCall& call);

class ProblemRecord {
 public:
  // An empty path records nothing.
  ProblemRecord(std::filesystem::path path, Logger log);

  // Appends a line with one write(), so that processes may share the file; the same line once.
  // Never throws: a file that cannot be written is logged once.
  void add(const AttentionCall& call) noexcept;

 private:
  std::filesystem::path path_;
  Logger log_;
  std::mutex mutex_;
  std::set<std::string> written_;
  bool failed_ = false;
};

}  // namespace ffpa_jit
