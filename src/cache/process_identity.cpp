#include "cache/process_identity.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>

namespace ffpa_jit {
namespace {

struct ProcessState {
  bool known = false;  // /proc told us
  char state = '?';
  int64_t started = 0;
};

// /proc/<pid>/stat: "pid (name) state ppid ...", start time being field 22. The name may hold
// blanks and parentheses, so fields are counted from the last ')'.
ProcessState process_state(int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return {};
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  ProcessState out;
  std::string skipped;
  fields >> out.state;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  out.known = static_cast<bool>(fields >> out.started);
  return out;
}

std::string host_identity() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> pid_namespace{};
  if (::readlink("/proc/self/ns/pid", pid_namespace.data(), pid_namespace.size() - 1) < 0) {
    pid_namespace[0] = '\0';
  }
  return fmt::format("{} {} {}", name.data(), boot, pid_namespace.data());
}

}  // namespace

ProcessIdentity this_process() {
  const int64_t pid = ::getpid();
  return {host_identity(), pid, process_state(pid).started};
}

bool is_alive(int64_t pid, int64_t started) {
  if (pid <= 0) return false;
  const ProcessState state = process_state(pid);
  if (!state.known) return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
  if (state.state == 'Z' || state.state == 'X') return false;
  return started == 0 || state.started == started;
}

}  // namespace ffpa_jit
