// The schema of the store: which files are ours, and how an older one becomes current.
//
// The migrations are cache/schema/NNN_name.sql, embedded at build time; PRAGMA user_version is the
// number of the last one applied, PRAGMA application_id marks the file as this library's.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cache/sqlite.h"

namespace ffpa_jit {

struct Migration {
  int64_t version;
  std::string_view name;
  std::string_view sql;
};

// In order, versions 1, 2, 3...
std::span<const Migration> migrations();

inline constexpr int64_t kApplicationId = 0x46465041;  // "FFPA"

// Blobs of 100 KB: fewer, longer overflow pages than with SQLite's 4096.
inline constexpr int kDefaultPageSize = 8192;

enum class SchemaState {
  kEmpty,    // a new file
  kCurrent,  // nothing to do
  kOlder,    // ours, to be migrated
  kNewer,    // ours, written by a later library: leave it alone
  kForeign,  // some other program's database: leave it alone
};

SchemaState schema_state(sqlite::Connection& connection,
                         std::span<const Migration> steps = migrations());

// Applies what is missing, all or nothing, in one exclusive transaction; processes that arrive
// together wait for each other, and the later ones find nothing to do. Pre: kEmpty or kOlder.
void migrate(sqlite::Connection& connection, std::span<const Migration> steps = migrations());

}  // namespace ffpa_jit
