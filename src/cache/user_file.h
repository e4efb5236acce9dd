// The user's cache file: found or made, private, of our schema, with the journal its file system
// allows; set aside when damaged, opened again when somebody replaced it. Every reason not to use
// it ends in refusal().
//
// cache.lock guards opening, creating, migrating and setting aside, so that nobody opens half of a
// file and its sidecars. The file itself is never opened but by SQLite (see file_state()).
//
// Symbolic links: the directory may be one (home directories on other disks are common) if what it
// points to is owned by the user; the file may not.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cache/database.h"
#include "cache/file_system.h"

namespace ffpa_jit {

class UserFile {
 public:
  struct Environment {
    std::string vfs;                     // "" is SQLite's default
    int page_size = 0;                   // of a new file; 0 is our default
    std::optional<bool> force_rollback;  // empty: by the file system
  };
  // `warn(kind, message)` logs the first message of a kind.
  using Warn = std::function<void(const std::string& kind, const std::string& message)>;

  // An empty directory is a refusal without a reason: nobody asked for a file.
  UserFile(std::filesystem::path directory, std::chrono::milliseconds busy_timeout,
           Environment environment, Warn warn);
  ~UserFile();

  // The database, opened if need be; nullptr when refused. A file that is no longer the one at its
  // path (set aside by another process, deleted by a person) is closed and the path opened anew.
  Database* get();
  // Whether the path now names another file than the open one.
  bool replaced() const;

  // The contents are not ours: renames the file to cache.sqlite.damaged-<n>, unless somebody has
  // done so already. The next get() begins a new one.
  void set_aside(const std::string& why);
  // From now on get() returns nullptr.
  void refuse(const std::string& why);
  // As refuse(), and whatever can be read is to be read from read_only_path().
  void refuse_writing(const std::string& why);
  // Closes without a checkpoint and without deleting the journal by its name, which may be another
  // file's by now; the next get() opens again. Before a fork, too: nothing is left that a child
  // could inherit.
  void close_leaving_sidecars();
  void abandon();  // in a child of a fork that went unseen: not even closing is safe

  const std::filesystem::path& path() const { return path_; }
  const FileState& identity() const { return identity_; }
  bool is_wal() const { return wal_; }
  bool refused() const { return refused_; }
  const std::string& refusal() const { return refusal_; }
  // Set when there is a file that can be read but not written; consumed once.
  std::optional<std::filesystem::path> take_read_only_path();
  // Deletes the files that were set aside.
  void delete_damaged();

 private:
  void open();
  void open_locked();
  void configure(sqlite::Connection& connection, bool is_new);
  // Pre: cache.lock is held. False: could not be renamed.
  bool set_aside_locked(const FileState& damaged, const std::string& why);
  std::optional<FileLock> lock(std::string* why);

  std::filesystem::path directory_;
  std::filesystem::path path_;
  const std::chrono::milliseconds busy_timeout_;
  const Environment environment_;
  const Warn warn_;
  std::optional<Database> database_;
  FileState identity_;
  bool wal_ = false;
  bool refused_ = false;
  std::string refusal_;
  std::optional<std::filesystem::path> read_only_path_;
};

}  // namespace ffpa_jit
