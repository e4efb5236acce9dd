#include "cache/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

namespace ffpa_jit {
namespace {

struct NetworkFileSystem {
  uint32_t magic;
  const char* name;
};

// f_type of statfs(2). FUSE may be local, but nothing tells, and the rollback journal is right on
// both.
constexpr NetworkFileSystem kNetworkFileSystems[] = {
    {0x00006969, "NFS"},    {0xff534d42, "CIFS"},     {0xfe534d42, "SMB2"},
    {0x0000517b, "SMB"},    {0x65735546, "FUSE"},     {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},   {0x00c36400, "Ceph"},     {0x5346414f, "AFS"},
    {0x6b414653, "kAFS"},   {0x73757245, "Coda"},     {0x01021997, "9P"},
    {0x19830326, "BeeGFS"}, {0x7461636f, "OCFS2"},    {0x01161970, "GFS2"},
    {0xaad7aaea, "PanFS"},  {0x20030528, "OrangeFS"}, {0x786f4256, "VirtualBox"},
    {0xbacbacbc, "VMware"}, {0x0000564c, "NCP"},
};

std::string system_words() { return std::strerror(errno); }

}  // namespace

std::optional<std::string> network_file_system(const std::filesystem::path& directory) {
  struct statfs info {};
  if (::statfs(directory.c_str(), &info) != 0) return std::nullopt;
  const auto magic = static_cast<uint32_t>(info.f_type);
  for (const NetworkFileSystem& entry : kNetworkFileSystems) {
    if (entry.magic == magic) return entry.name;
  }
  return std::nullopt;
}

std::string prepare_private_directory(const std::filesystem::path& directory) {
  std::filesystem::path path;
  for (const std::filesystem::path& part : directory) {
    path /= part;
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) continue;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return fmt::format("cannot make directory {}: {}", path.string(), system_words());
    }
  }
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) {
    return fmt::format("cannot look at {}: {}", directory.string(), system_words());
  }
  if (!S_ISDIR(info.st_mode)) return fmt::format("{} is not a directory", directory.string());
  if (info.st_uid != ::geteuid()) {
    return fmt::format("{} is owned by user {}, not by user {} who runs this", directory.string(),
                       info.st_uid, ::geteuid());
  }
  return {};
}

FileState file_state(const std::filesystem::path& file) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return {FileKind::kRefused,
            fmt::format("cannot look at {}: {}", file.string(), system_words())};
  }
  FileState state{FileKind::kRegular, {}, info.st_dev, info.st_ino};
  if (!S_ISREG(info.st_mode)) {
    state.kind = FileKind::kRefused;
    state.reason = fmt::format("{} is {}, not a file", file.string(),
                               S_ISLNK(info.st_mode)   ? "a symbolic link"
                               : S_ISDIR(info.st_mode) ? "a directory"
                                                       : "a device, socket or pipe");
  } else if (info.st_uid != ::geteuid()) {
    state.kind = FileKind::kRefused;
    state.reason = fmt::format("{} is owned by user {}, not by user {} who runs this",
                               file.string(), info.st_uid, ::geteuid());
  }
  return state;
}

bool create_private_file(const std::filesystem::path& file) {
  const int descriptor =
      ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  ::close(descriptor);
  return true;
}

std::optional<FileLock> FileLock::acquire(const std::filesystem::path& file,
                                          std::chrono::milliseconds limit) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return std::nullopt;
  FileLock lock(descriptor);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  auto pause = std::chrono::milliseconds(1);
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    // A file system without locks: going on unlocked risks only what a damaged file costs anyway.
    if (errno != EWOULDBLOCK) return lock;
    if (std::chrono::steady_clock::now() >= deadline) {
      errno = EWOULDBLOCK;
      return std::nullopt;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(10));
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  const int saved = errno;  // acquire() reports through it
  // Unlocked by name: a child forked meanwhile holds a copy of the descriptor, and closing ours
  // would not do.
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
  errno = saved;
}

}  // namespace ffpa_jit
