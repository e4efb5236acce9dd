#include "tune/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace ffpa_jit {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& argv) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw_error(FFPA_JIT_IO_ERROR, "no channel to a worker process: {}", std::strerror(errno));
  }
  channel_ = ends[0];
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  // glibc clears close-on-exec also where both numbers are the same.
  posix_spawn_file_actions_adddup2(&actions, ends[1], kChannel);
  const int error =
      ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(channel_);
    throw_error(FFPA_JIT_IO_ERROR, "worker process {} cannot be started: {}", argv[0],
                std::strerror(error));
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) end_of_child();
  if (channel_ >= 0) ::close(channel_);
}

std::string ChildProcess::end_of_child() {
  ::kill(pid_, SIGKILL);  // one that has ended already keeps its status until waited for
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

void ChildProcess::lost(const std::string& how) {
  std::string end = pid_ > 0 ? end_of_child() : "";
  throw ChildLost(how.empty() ? end : how);
}

void ChildProcess::send_line(const std::string& line) {
  if (pid_ < 0) lost("is not running");
  const std::string text = line + '\n';
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(channel_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) lost("");
    sent += static_cast<size_t>(n);
  }
}

std::string ChildProcess::receive_line(std::chrono::milliseconds limit) {
  if (pid_ < 0) lost("is not running");
  const Clock::time_point deadline = Clock::now() + limit;
  while (true) {
    if (const size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wanted{channel_, POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&wanted, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      lost(fmt::format("did not answer within {:.1f} s and was killed",
                       1e-3 * static_cast<double>(limit.count())));
    char buffer[4096];
    const ssize_t n = ::recv(channel_, buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) lost("");
    received_.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace ffpa_jit
