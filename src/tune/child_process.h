// ChildProcess: another program that is talked to in lines and may die or hang without taking this
// one along. Used for the tuner's workers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace ffpa_jit {

// The child is gone or did not answer in time; what() says which, in words ("was killed by signal
// 11 (Segmentation fault)"). The child is dead afterwards.
class ChildLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ChildProcess {
 public:
  // The descriptor on which the child reads requests and writes answers. Its stdin is /dev/null,
  // its stdout this process's stderr, so that nothing it prints is taken for an answer.
  static constexpr int kChannel = 3;

  // argv[0] is a path. Throws Error IO_ERROR when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& argv);
  ~ChildProcess();  // kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void send_line(const std::string& line);                    // throws ChildLost
  std::string receive_line(std::chrono::milliseconds limit);  // throws ChildLost

 private:
  [[noreturn]] void lost(const std::string& how);
  std::string end_of_child();  // kills what still runs, waits, says how it ended

  pid_t pid_ = -1;
  int channel_ = -1;
  std::string received_;
};

}  // namespace ffpa_jit
