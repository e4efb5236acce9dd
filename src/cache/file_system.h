// What the store asks of the file system: who owns a path, is it local, make it private, lock it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace ffpa_jit {

// Where shared-memory locking between processes cannot be counted on (NFS, SMB, Lustre, FUSE...),
// the name of the file system; nullopt for a local one.
std::optional<std::string> network_file_system(const std::filesystem::path& directory);

// Makes the directory and its missing parents, 0700. Returns why it cannot be used ("" = it can):
// not a directory, not creatable, or owned by somebody else.
std::string prepare_private_directory(const std::filesystem::path& directory);

enum class FileKind { kAbsent, kRegular, kRefused };

struct FileState {
  FileKind kind = FileKind::kAbsent;
  std::string reason;  // of kRefused: a link, a directory, somebody else's
  dev_t device = 0;
  ino_t inode = 0;
  bool same_file(const FileState& other) const {
    return kind == other.kind && device == other.device && inode == other.inode;
  }
};

// Looks without opening: closing a descriptor of a file drops every POSIX lock the process holds on
// it, SQLite's included.
FileState file_state(const std::filesystem::path& file);

// Makes an empty file, 0600. False with errno when that fails; an existing file is a failure too.
bool create_private_file(const std::filesystem::path& file);

// flock() on a file of its own. Held by whoever opens, creates, migrates or sets aside the store's
// file.
class FileLock {
 public:
  // nullopt with errno when the lock file cannot be opened, or (EWOULDBLOCK) is held for longer
  // than `limit`.
  static std::optional<FileLock> acquire(const std::filesystem::path& file,
                                         std::chrono::milliseconds limit);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace ffpa_jit
