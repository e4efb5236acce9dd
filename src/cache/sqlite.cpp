#include "cache/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ffpa_jit::sqlite {
namespace {

// file:/path?...: '%', '?' and '#' mean something in a URI and are legal in a path.
std::string file_uri(const std::string& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri.append(query);
}

std::string_view first_line(std::string_view sql) {
  const size_t end = sql.substr(0, 70).find('\n');
  return sql.substr(0, end == std::string_view::npos ? std::min<size_t>(sql.size(), 70) : end);
}

}  // namespace

Failure Error::failure() const noexcept {
  if (code_ == SQLITE_READONLY_DBMOVED) return Failure::kMoved;
  if (code_ == SQLITE_IOERR_SHORT_READ) return Failure::kDamaged;  // a truncated file
  switch (code_ & 0xff) {
    case SQLITE_FULL:
      return Failure::kFull;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Failure::kReadOnly;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Failure::kBusy;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_NOLFS:
    case SQLITE_AUTH:
    case SQLITE_MISUSE:
    case SQLITE_ABORT:
      return Failure::kIo;
    default:
      // CORRUPT and NOTADB, but also "no such column", a constraint that cannot break, a value too
      // big: this library's fixed SQL fails so only on a schema or rows that it did not write.
      return Failure::kDamaged;
  }
}

Error Error::damaged(const std::string& message) { return Error(SQLITE_CORRUPT, message); }

double storable(double value) { return std::isnan(value) ? 0.0 : value + 0.0; }

// ---- Statement ----

Statement::~Statement() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) connection_.fail(code, first_line(sqlite3_sql(statement_)));
}

Statement& Statement::bind(int64_t value) {
  check(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(statement_, ++bound_, storable(value)));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  // A null pointer would bind NULL; an empty text is a text.
  const char* data = text.data() ? text.data() : "";
  check(sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::span<const std::byte> blob) {
  const void* data = blob.data() ? static_cast<const void*>(blob.data()) : "";
  check(sqlite3_bind_blob64(statement_, ++bound_, data, blob.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::bind(const Hash128& hash) {
  const auto bytes = hash.bytes();
  check(sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_.fail(code, first_line(sqlite3_sql(statement_)));
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data ? std::string(data, sqlite3_column_bytes(statement_, column)) : std::string();
}

std::vector<std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return data ? std::vector<std::byte>(data, data + sqlite3_column_bytes(statement_, column))
              : std::vector<std::byte>();
}

Hash128 Statement::hash(int column) const {
  Hash128 out;
  if (sqlite3_column_bytes(statement_, column) != 16) return out;
  const auto* data = static_cast<const unsigned char*>(sqlite3_column_blob(statement_, column));
  if (!data) return out;
  for (int i = 0; i < 8; ++i) {
    out.high = out.high << 8 | data[i];
    out.low = out.low << 8 | data[8 + i];
  }
  return out;
}

// ---- Connection ----

Connection Connection::open(const std::string& path, const Options& options) {
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= options.read_only || options.immutable ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (options.create) flags |= SQLITE_OPEN_CREATE;
  // The user's own file is never a link; a bundle that a person named may be one.
  if (!options.read_only && !options.immutable) flags |= SQLITE_OPEN_NOFOLLOW;
  const std::string uri = file_uri(path, options.immutable ? "?immutable=1" : "");
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(uri.c_str(), &db, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
  Connection connection(db, path);  // SQLite hands out a handle to close even when opening failed
  if (code != SQLITE_OK) connection.fail(code, "open");
  connection.set_busy_timeout(options.busy_timeout);
  // The schema of a file is data from outside: it may not call functions nor change its own tables.
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // No mapped reads: a truncation by somebody else would be SIGBUS instead of an error.
  connection.execute("PRAGMA mmap_size=0; PRAGMA cell_size_check=ON");
  return connection;
}

Connection Connection::in_memory() {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(
      ":memory:", &db,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  Connection connection(db, "memory");
  if (code != SQLITE_OK) connection.fail(code, "open");
  return connection;
}

Connection::Connection(Connection&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)),
      path_(std::move(other.path_)),
      prepared_(std::move(other.prepared_)) {
  other.prepared_.clear();
}

Connection::~Connection() {
  for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close_v2(db_);  // a null pointer is allowed
}

void Connection::fail(int code, std::string_view step) const {
  const bool has_words = db_ && sqlite3_extended_errcode(db_) == code;
  const char* words = has_words ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
  const int system = db_ ? sqlite3_system_errno(db_) : 0;
  throw Error(code, fmt::format("{}: {}: {} (SQLite {}{})", path_, step, words, code,
                                system ? fmt::format(", errno {}", system) : ""));
}

Statement Connection::prepare(const char* sql) {
  sqlite3_stmt*& statement = prepared_[sql];
  if (!statement) {
    const int code =
        sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) fail(code, first_line(sql));
  }
  return Statement(statement, *this);
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, first_line(sql));
}

std::string Connection::pragma_text(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const int prepared = sqlite3_prepare_v2(db_, sql.c_str(), -1, &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(raw, sqlite3_finalize);
  if (prepared != SQLITE_OK) fail(prepared, sql);
  const int code = sqlite3_step(raw);
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(code, sql);
  const auto* text =
      code == SQLITE_ROW ? reinterpret_cast<const char*>(sqlite3_column_text(raw, 0)) : nullptr;
  return text ? text : "";
}

int64_t Connection::pragma_integer(const char* name) {
  Statement statement = prepare(name);
  return statement.step() ? statement.integer(0) : 0;
}

int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(db_); }

int64_t Connection::changes() const { return sqlite3_changes64(db_); }

bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

bool Connection::is_read_only() const { return sqlite3_db_readonly(db_, "main") == 1; }

void Connection::set_busy_timeout(std::chrono::milliseconds timeout) {
  sqlite3_busy_timeout(db_, static_cast<int>(timeout.count()));
}

void Connection::close_without_checkpoint() {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void Connection::abandon() noexcept {
  db_ = nullptr;
  prepared_.clear();
}

// ---- Transaction ----

Transaction::Transaction(Connection& connection) : connection_(connection) {
  connection_.prepare("BEGIN IMMEDIATE").run();
}

Transaction::~Transaction() {
  // SQLite has rolled back by itself after some errors; the state tells, not the error.
  if (!connection_.in_transaction()) return;
  try {
    connection_.prepare("ROLLBACK").run();
  } catch (const Error&) {  // the connection is as good as closed; the next use will say so
  }
}

void Transaction::commit() { connection_.prepare("COMMIT").run(); }

}  // namespace ffpa_jit::sqlite
