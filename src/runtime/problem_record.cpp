#include "runtime/problem_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace ffpa_jit {

std::string record_line(const AttentionCall& call) {
  const Shape& s = call.shape;
  const ForwardParams& p = call.params;
  nlohmann::ordered_json line{{"device", text_of(call.device)},
                              {"problem", text_of(call.problem)},
                              {"shape",
                               {{"batch", s.batch},
                                {"heads_q", s.heads_q},
                                {"heads_kv", s.heads_kv},
                                {"seqlen_q", s.seqlen_q},
                                {"seqlen_k", s.seqlen_k},
                                {"total_q", s.total_q},
                                {"total_k", s.total_k}}},
                              {"window", {p.window_left, p.window_right}},
                              {"softcap", p.softcap},
                              {"dropout", p.dropout_p},
                              {"family", call.family}};
  for (int i = 0; i < kMaxModifierTensors; ++i) {
    const ModifierTensor& tensor = call.problem.modifier_tensors[i];
    if (tensor.rank == 0) continue;
    const int* sizes = p.modifier_tensors[i].sizes;
    line["modifier_tensors"][fmt::format("t{}", i)] = std::vector<int>(sizes, sizes + tensor.rank);
  }
  return line.dump();
}

ProblemRecord::ProblemRecord(std::filesystem::path path, Logger log)
    : path_(std::move(path)), log_(std::move(log)) {}

void ProblemRecord::add(const AttentionCall& call) noexcept {
  if (path_.empty()) return;
  try {
    std::lock_guard lock(mutex_);
    std::string line = record_line(call);
    if (!written_.insert(line).second) return;
    line += '\n';
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    const ssize_t written = file < 0 ? -1 : ::write(file, line.data(), line.size());
    const int error = errno;
    if (file >= 0) ::close(file);
    if (written == static_cast<ssize_t>(line.size()) || failed_) return;
    failed_ = true;
    log_->warn("problems are not recorded to {}: {}", path_.string(), std::strerror(error));
  } catch (...) {  // out of memory: the call matters more
  }
}

}  // namespace ffpa_jit
