#include "device/cpu/kernel_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"

namespace ffpa_jit {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// A spelling of /proc/self/fd/N that this process has not used before. The loader remembers
// libraries by the name they were opened with, and descriptor numbers come back: under the plain
// spelling a later kernel would be answered with an earlier one.
std::string unique_path(int fd) {
  static std::atomic<uint64_t> counter{0};
  std::string path = "/proc/self/fd";
  for (uint64_t bits = counter.fetch_add(1) + 1; bits; bits >>= 1) path += bits & 1 ? "/." : "/";
  return path + '/' + std::to_string(fd);
}

void* open_from_memory(std::span<const std::byte> bytes) {
  const FileDescriptor fd(::memfd_create("ffpa_jit_kernel", MFD_CLOEXEC));
  if (fd.get() < 0 || !write_all(fd.get(), bytes)) return nullptr;
  return ::dlopen(unique_path(fd.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Where memfd_create or /proc is refused (old kernels, seccomp): a private file, gone before this
// returns.
void* open_from_file(std::span<const std::byte> bytes) {
  const char* directory = ::secure_getenv("TMPDIR");
  std::string path = std::string(directory && *directory ? directory : "/tmp") + "/ffpa_jit_XXXXXX";
  const FileDescriptor fd(::mkostemp(path.data(), O_CLOEXEC));
  if (fd.get() < 0) return nullptr;
  void* handle =
      write_all(fd.get(), bytes) ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  ::unlink(path.c_str());
  return handle;
}

}  // namespace

KernelImage::KernelImage(std::span<const std::byte> bytes, const std::string& entry) {
  check_elf_image(bytes);
  handle_ = open_from_memory(bytes);
  std::string reason;
  if (!handle_) {
    const char* why = ::dlerror();
    reason = why ? why : std::strerror(errno);
    handle_ = open_from_file(bytes);
  }
  if (!handle_) {
    const char* why = ::dlerror();
    throw_error(FFPA_JIT_DEVICE_ERROR,
                "the loader refuses a kernel image of {} bytes, from memory ({}) and from a file "
                "({}); remove it with "
                "`ffpa-jit cache clear`, so that it is compiled anew",
                bytes.size(), reason, why ? why : "cannot be written");
  }
  entry_ = ::dlsym(handle_, entry.c_str());
  if (!entry_) {
    ::dlclose(handle_);
    throw_error(FFPA_JIT_DEVICE_ERROR, "a kernel image of {} bytes has no function \"{}\"",
                bytes.size(), entry);
  }
}

void* KernelImage::find(const std::string& name) const { return ::dlsym(handle_, name.c_str()); }

KernelImage::~KernelImage() { ::dlclose(handle_); }

}  // namespace ffpa_jit
