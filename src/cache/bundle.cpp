#include "cache/bundle.h"

#include <fmt/format.h>

#include <utility>

#include "cache/schema.h"

namespace ffpa_jit {

Database open_bundle(const std::filesystem::path& file, const std::string& vfs) {
  sqlite::Connection connection =
      sqlite::Connection::open(file.string(), {.immutable = true, .vfs = vfs});
  switch (schema_state(connection)) {
    case SchemaState::kCurrent:
      return Database(std::move(connection));
    case SchemaState::kNewer:
      throw sqlite::Error::damaged(
          fmt::format("{}: written by a later version of this library", file.string()));
    case SchemaState::kOlder:
      throw sqlite::Error::damaged(fmt::format(
          "{}: written by an earlier version of this library; export it again", file.string()));
    case SchemaState::kEmpty:
    case SchemaState::kForeign:
      break;
  }
  throw sqlite::Error::damaged(
      fmt::format("{}: not a kernel cache of this library", file.string()));
}

Database* Bundle::get() {
  if (given_up_) return nullptr;
  if (!database_) database_.emplace(open_bundle(file_, vfs_));
  return &*database_;
}

void Bundle::abandon() {
  if (database_) database_->connection().abandon();
  database_.reset();
}

}  // namespace ffpa_jit
