// POSIX files behind io/file.h.
#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace ffpa_jit::io {
namespace {

[[noreturn]] void throw_io(const std::string& name, const char* what) {
  throw_error(FFPA_JIT_IO_ERROR, "{}: {}: {}", name, what, std::strerror(errno));
}

// Removes the temporary file unless it was renamed into place.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& target)
      : name_(fmt::format("{}.partial.{}", target.string(), ::getpid())) {
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw_io(target.string(), "cannot be written");
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw_io(name_, "write failed");
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  void become(const std::filesystem::path& target) {
    if (::fsync(descriptor_) != 0) throw_io(name_, "write failed");
    if (::close(std::exchange(descriptor_, -1)) != 0) throw_io(name_, "write failed");
    if (::rename(name_.c_str(), target.c_str()) != 0)
      throw_io(target.string(), "cannot be written");
    name_.clear();
  }

 private:
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw_io(name_, "cannot be opened");
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw_error(FFPA_JIT_IO_ERROR, "{}: not a regular file", name_);
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::vector<std::byte> InputFile::read(uint64_t offset, uint64_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) {
    throw_error(FFPA_JIT_IO_ERROR, "{}: ends at byte {}, but bytes {} to {} are needed: truncated?",
                name_, size_, offset, offset + bytes);
  }
  std::vector<std::byte> data(bytes);
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got =
        ::pread(descriptor_, data.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io(name_, "read failed");
    if (got == 0) throw_error(FFPA_JIT_IO_ERROR, "{}: became shorter while it was read", name_);
    done += static_cast<uint64_t>(got);
  }
  return data;
}

std::string read_text(const std::filesystem::path& path, uint64_t limit_bytes) {
  const InputFile file(path);
  if (file.size() > limit_bytes) {
    throw_error(FFPA_JIT_IO_ERROR, "{}: {} bytes; at most {} are read from a file of this kind",
                file.name(), file.size(), limit_bytes);
  }
  const std::vector<std::byte> bytes = file.read(0, file.size());
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void write_atomically(const std::filesystem::path& path,
                      const std::function<void(const Sink&)>& write) {
  Temporary temporary(path);
  write([&](std::span<const std::byte> bytes) { temporary.append(bytes); });
  temporary.become(path);
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  write_atomically(path, [&](const Sink& sink) { sink(std::as_bytes(std::span(text))); });
}

}  // namespace ffpa_jit::io
