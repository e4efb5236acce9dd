// Runs a disassembler on a temporary file.
#include "ffpa-jit/disassembly.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "io/file.h"

extern char** environ;

namespace ffpa_jit::cli {
namespace {

struct Tool {
  const char* name;
  std::vector<const char*> arguments;  // before the file
};

// Standard output of a program found on PATH; nullopt when it is not there or fails.
std::optional<std::string> output_of(const Tool& tool, const std::string& file) {
  int ends[2];
  if (::pipe(ends) != 0) return std::nullopt;
  std::vector<char*> arguments{const_cast<char*>(tool.name)};
  for (const char* argument : tool.arguments) arguments.push_back(const_cast<char*>(argument));
  arguments.push_back(const_cast<char*>(file.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  ::posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, tool.name, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (ssize_t got = 0; !failed && (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  ::close(ends[0]);
  if (failed) return std::nullopt;
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text.empty()) return std::nullopt;
  return text;
}

}  // namespace

Disassembly disassemble(const KernelBinary& binary) {
  std::string pattern = std::filesystem::temp_directory_path() / "ffpa_jit_code_XXXXXX";
  const int descriptor = ::mkstemp(pattern.data());
  if (descriptor < 0) throw_error(FFPA_JIT_IO_ERROR, "{}: cannot be created", pattern);
  ::close(descriptor);
  struct Remove {
    const std::string& path;
    ~Remove() { ::unlink(path.c_str()); }
  } remove{pattern};
  io::write_atomically(pattern, [&](const io::Sink& sink) { sink(binary.bytes); });

  const bool cubin = binary.format == BinaryFormat::kCubin;
  const std::vector<Tool> tools =
      cubin ? std::vector<Tool>{{"nvdisasm", {"-c"}}, {"cuobjdump", {"-sass"}}}
            : std::vector<Tool>{{"objdump", {"-d", "--no-show-raw-insn", "-M", "intel"}},
                                {"llvm-objdump-22", {"-d"}}};
  for (const Tool& tool : tools) {
    if (auto text = output_of(tool, pattern)) return {std::move(*text), ""};
  }
  return {"", cubin ? "neither nvdisasm nor cuobjdump is on PATH (both come with the CUDA toolkit, "
                      "package cuda-nvdisasm or "
                      "cuda-cuobjdump)"
                    : "objdump is not on PATH (Debian package binutils)"};
}

}  // namespace ffpa_jit::cli
