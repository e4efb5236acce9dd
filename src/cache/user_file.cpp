#include "cache/user_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "cache/schema.h"

namespace ffpa_jit {
namespace {

constexpr const char* kFileName = "cache.sqlite";
constexpr const char* kLockName = "cache.lock";
constexpr std::array kSidecars = {"-wal", "-shm", "-journal"};
// A disk that keeps going bad must not fill itself with evidence: the last one is overwritten.
constexpr int kMaxDamagedFiles = 9;

bool is_write_refusal(int error) { return error == EACCES || error == EROFS || error == EPERM; }

}  // namespace

UserFile::UserFile(std::filesystem::path directory, std::chrono::milliseconds busy_timeout,
                   Environment environment, Warn warn)
    : directory_(std::move(directory)),
      path_(directory_ / kFileName),
      busy_timeout_(busy_timeout),
      environment_(std::move(environment)),
      warn_(std::move(warn)) {
  refused_ = directory_.empty();
}

UserFile::~UserFile() = default;

Database* UserFile::get() {
  if (refused_) return nullptr;
  if (database_ && replaced()) close_leaving_sidecars();
  if (!database_) open();
  return database_ ? &*database_ : nullptr;
}

bool UserFile::replaced() const { return !file_state(path_).same_file(identity_); }

void UserFile::refuse(const std::string& why) {
  database_.reset();
  refused_ = true;
  refusal_ = why;
  warn_("refused", fmt::format("kernels are kept in memory only, for this process: {}", why));
}

void UserFile::refuse_writing(const std::string& why) {
  if (file_state(path_).kind == FileKind::kRegular) read_only_path_ = path_;
  refuse(why);
}

void UserFile::close_leaving_sidecars() {
  if (!database_) return;
  database_->connection().close_without_checkpoint();
  database_.reset();
}

void UserFile::abandon() {
  if (!database_) return;
  database_->connection().abandon();
  database_.reset();
}

std::optional<std::filesystem::path> UserFile::take_read_only_path() {
  return std::exchange(read_only_path_, std::nullopt);
}

std::optional<FileLock> UserFile::lock(std::string* why) {
  const std::filesystem::path file = directory_ / kLockName;
  std::optional<FileLock> held = FileLock::acquire(file, busy_timeout_);
  if (held) return held;
  const int error = errno;
  *why = error == EWOULDBLOCK
             ? fmt::format("another process has held {} for more than {} ms", file.string(),
                           busy_timeout_.count())
             : fmt::format("cannot open {}: {}", file.string(), std::strerror(error));
  errno = error;
  return std::nullopt;
}

void UserFile::open() {
  if (std::string why = prepare_private_directory(directory_); !why.empty()) return refuse(why);
  // SQLite refuses a link anywhere in the path; the directory's own links are resolved first.
  std::error_code error;
  std::filesystem::path canonical = std::filesystem::canonical(directory_, error);
  if (error) return refuse(fmt::format("{}: {}", directory_.string(), error.message()));
  directory_ = std::move(canonical);
  path_ = directory_ / kFileName;
  open_locked();
}

void UserFile::open_locked() {
  std::string why;
  const std::optional<FileLock> held = lock(&why);
  if (!held) return is_write_refusal(errno) ? refuse_writing(why) : refuse(why);

  for (bool first : {true, false}) {
    FileState state = file_state(path_);
    if (state.kind == FileKind::kRefused) return refuse(state.reason);
    if (state.kind == FileKind::kAbsent) {
      if (!create_private_file(path_)) {
        const int error = errno;
        why = fmt::format("cannot make {}: {}", path_.string(), std::strerror(error));
        return is_write_refusal(error) ? refuse_writing(why) : refuse(why);
      }
      state = file_state(path_);
    }
    try {
      sqlite::Connection connection = sqlite::Connection::open(
          path_.string(), {.vfs = environment_.vfs, .busy_timeout = busy_timeout_});
      if (connection.is_read_only()) {
        return refuse_writing(fmt::format("{} may not be written", path_.string()));
      }
      const SchemaState schema = schema_state(connection);
      if (schema == SchemaState::kNewer) {
        return refuse(fmt::format(
            "{} was written by a later version of this library; it is left alone. Update the "
            "library, or set FFPA_JIT_CACHE_DIR to another directory",
            path_.string()));
      }
      if (schema == SchemaState::kForeign) {
        return refuse(
            fmt::format("{} is another program's database; it is left alone. Move it, or set "
                        "FFPA_JIT_CACHE_DIR to another directory",
                        path_.string()));
      }
      configure(connection, schema == SchemaState::kEmpty);
      if (schema != SchemaState::kCurrent) migrate(connection);
      database_.emplace(std::move(connection));
      identity_ = state;
      return;
    } catch (const sqlite::Error& e) {
      switch (e.failure()) {
        case sqlite::Failure::kDamaged:
          if (first && set_aside_locked(state, e.what())) continue;
          return refuse(e.what());
        case sqlite::Failure::kReadOnly:
          return refuse_writing(e.what());
        default:
          return refuse(e.what());
      }
    }
  }
}

void UserFile::configure(sqlite::Connection& connection, bool is_new) {
  const std::optional<std::string> network = network_file_system(directory_);
  const bool rollback = environment_.force_rollback.value_or(network.has_value());
  if (is_new) {
    const int page_size = environment_.page_size ? environment_.page_size : kDefaultPageSize;
    connection.execute(fmt::format("PRAGMA page_size={}", page_size));
  }
  // A write-ahead log needs memory shared by all processes, which a network file system does not
  // give. TRUNCATE rather than DELETE: no name appears and vanishes at each write, which NFS
  // clients see late.
  wal_ = !rollback && connection.pragma_text("PRAGMA journal_mode=WAL") == "wal";
  if (wal_) {
    // Survives a killed process; after a power cut the last kernels may be missing, the file is
    // whole.
    connection.execute("PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216");
  } else {
    connection.pragma_text("PRAGMA journal_mode=TRUNCATE");
    connection.execute("PRAGMA synchronous=FULL");
  }
}

void UserFile::set_aside(const std::string& why) {
  close_leaving_sidecars();
  std::string lock_trouble;
  const std::optional<FileLock> held = lock(&lock_trouble);
  if (!held) return refuse(fmt::format("{}; and {}", why, lock_trouble));
  set_aside_locked(identity_, why);
}

bool UserFile::set_aside_locked(const FileState& damaged, const std::string& why) {
  // Another process may have been first; what lies there now is its good new file.
  if (!file_state(path_).same_file(damaged)) return true;
  std::string target;
  for (int n = 1; n <= kMaxDamagedFiles; ++n) {
    target = fmt::format("{}.damaged-{}", path_.string(), n);
    if (file_state(target).kind == FileKind::kAbsent) break;
  }
  // Sidecars first: a new file must never meet an old journal.
  for (const char* sidecar : kSidecars) {
    ::rename((path_.string() + sidecar).c_str(), (target + sidecar).c_str());  // mostly absent
  }
  if (::rename(path_.c_str(), target.c_str()) != 0) {
    refuse(fmt::format("{}; and it cannot be moved aside: {}", why, std::strerror(errno)));
    return false;
  }
  warn_("damaged", fmt::format("the cache file was damaged and is now {}; a new one is begun ({})",
                               target, why));
  return true;
}

void UserFile::delete_damaged() {
  for (int n = 1; n <= kMaxDamagedFiles; ++n) {
    const std::string file = fmt::format("{}.damaged-{}", path_.string(), n);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    for (const char* sidecar : kSidecars) std::filesystem::remove(file + sidecar, ignored);
  }
}

}  // namespace ffpa_jit
