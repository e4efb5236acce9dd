// SQLite behind RAII: Connection and Statement, and nothing of what is stored. Used by src/cache/
// only.
//
// Every failure is an Error that names the file, the SQL and SQLite's words, and says what kind of
// trouble it is; callers decide by Failure, never by message. Statements are prepared once per
// connection. A Connection is used by one thread at a time (its owner holds a mutex).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ffpa_jit::sqlite {

enum class Failure {
  kDamaged,   // the file's contents are not what this library writes
  kFull,      // no space, or a quota
  kReadOnly,  // the file or its directory cannot be written
  kBusy,      // another process kept its lock longer than the busy timeout
  kMoved,     // the file was renamed or deleted under the connection
  kIo,        // everything else the operating system refuses
};

class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  // For damage that SQLite itself does not see.
  static Error damaged(const std::string& message);
  int code() const noexcept { return code_; }  // extended result code
  Failure failure() const noexcept;

 private:
  int code_;
};

// What SQLite keeps of a number: it has no NaN (0 here) and no negative zero.
double storable(double value);

// One use of a prepared statement: bind in order, step, read; destruction readies it for the next
// use.
class Statement {
 public:
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  // The referenced memory must outlive the statement's use: nothing is copied.
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(std::span<const std::byte> blob);
  Statement& bind(const Hash128& hash);

  bool step();  // true: a row is there
  void run();   // to the end; rows are dropped

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::vector<std::byte> blob(int column) const;
  Hash128 hash(int column) const;  // zero when the column is not 16 bytes

 private:
  friend class Connection;
  Statement(sqlite3_stmt* statement, const class Connection& connection)
      : statement_(statement), connection_(connection) {}
  void check(int code) const;

  sqlite3_stmt* statement_;
  const Connection& connection_;
  int bound_ = 0;
};

class Connection {
 public:
  struct Options {
    bool read_only = false;
    bool immutable = false;  // no locks, no sidecar files: for files nobody writes
    bool create = false;
    std::string vfs{};  // "" is the default; tests name their own
    std::chrono::milliseconds busy_timeout{10'000};
  };
  static Connection open(const std::string& path, const Options& options);
  static Connection in_memory();

  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  // `sql` must be a string literal (its address is the cache key).
  Statement prepare(const char* sql);
  // Several statements, not kept; for schema and pragmas.
  void execute(const std::string& sql);
  int64_t pragma_integer(const char* name);
  std::string pragma_text(const std::string& sql);

  int64_t last_insert_id() const;
  int64_t changes() const;
  bool in_transaction() const;
  bool is_read_only() const;  // SQLite opens so what it may not write
  void set_busy_timeout(std::chrono::milliseconds timeout);
  // Closing neither checkpoints nor deletes the write-ahead log: for damaged files and before a
  // fork.
  void close_without_checkpoint();
  // Forgets the connection without closing it: the only safe thing in a forked child.
  void abandon() noexcept;

  const std::string& path() const noexcept { return path_; }
  [[noreturn]] void fail(int code, std::string_view step) const;

 private:
  Connection(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

  sqlite3* db_;
  std::string path_;
  std::unordered_map<const char*, sqlite3_stmt*> prepared_;
};

// BEGIN IMMEDIATE, so that a writer waits for its turn before it has read anything (a transaction
// that starts as a reader cannot wait, only fail). Destruction without commit() rolls back.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Connection& connection_;
};

}  // namespace ffpa_jit::sqlite
