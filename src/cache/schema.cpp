#include "cache/schema.h"

#include <fmt/format.h>

#include <string>

namespace ffpa_jit {

SchemaState schema_state(sqlite::Connection& connection, std::span<const Migration> steps) {
  const int64_t id = connection.pragma_integer("PRAGMA application_id");
  const int64_t version = connection.pragma_integer("PRAGMA user_version");
  if (id == kApplicationId) {
    const int64_t current = steps.back().version;
    if (version == current) return SchemaState::kCurrent;
    return version > current ? SchemaState::kNewer : SchemaState::kOlder;
  }
  const bool empty = connection.pragma_integer("SELECT count(*) FROM sqlite_schema") == 0;
  return id == 0 && version == 0 && empty ? SchemaState::kEmpty : SchemaState::kForeign;
}

void migrate(sqlite::Connection& connection, std::span<const Migration> steps) {
  // EXCLUSIVE keeps readers of an older library out too, where the journal mode allows readers at
  // all.
  connection.execute("BEGIN EXCLUSIVE");
  try {
    const int64_t version = connection.pragma_integer("PRAGMA user_version");
    for (const Migration& step : steps) {
      if (step.version > version) connection.execute(std::string(step.sql));
    }
    if (version < steps.back().version) {
      connection.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}",
                                     kApplicationId, steps.back().version));
    }
    connection.execute("COMMIT");
  } catch (const sqlite::Error&) {
    if (connection.in_transaction()) {
      try {
        connection.execute("ROLLBACK");
      } catch (const sqlite::Error&) {  // the first error is the one to report
      }
    }
    throw;
  }
}

}  // namespace ffpa_jit
