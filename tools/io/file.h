// Files as the readers and writers of this folder need them: bounded reads, and writes that are
// either complete or absent. Errors are ffpa_jit::Error IO_ERROR naming the path and the system's
// words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffpa_jit::io {

// A regular file open for reading. Its size is what it was when opened; a read past it, or a file
// that shrank meanwhile, is an error.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  uint64_t size() const noexcept { return size_; }
  const std::string& name() const noexcept { return name_; }
  std::vector<std::byte> read(uint64_t offset, uint64_t bytes) const;

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::string name_;
};

// The whole file as text; refuses files above `limit_bytes` before reading them.
std::string read_text(const std::filesystem::path& path, uint64_t limit_bytes);

// Calls `write` with a sink; the bytes appear under `path` only when `write` returned and the disk
// took all of them (temporary file in the same directory, fsync, rename).
using Sink = std::function<void(std::span<const std::byte>)>;
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(const Sink&)>& write);

void write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace ffpa_jit::io
