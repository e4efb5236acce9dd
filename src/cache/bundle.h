// A read-only layer: a file that `Store::export_to` wrote, opened immutable, so that it may lie on
// read-only media and needs no locks. Somebody else may own it: it was named by the user.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cache/database.h"

namespace ffpa_jit {

// Throws sqlite::Error; also when the file is not of the current schema (it cannot be migrated).
Database open_bundle(const std::filesystem::path& file, const std::string& vfs);

class Bundle {
 public:
  Bundle(std::filesystem::path file, std::string vfs)
      : file_(std::move(file)), vfs_(std::move(vfs)) {}

  const std::filesystem::path& file() const { return file_; }
  // Opens on first use. nullptr when given up.
  Database* get();
  void give_up() {
    database_.reset();
    given_up_ = true;
  }
  bool given_up() const { return given_up_; }
  void close() { database_.reset(); }
  void abandon();

 private:
  std::filesystem::path file_;
  std::string vfs_;
  std::optional<Database> database_;
  bool given_up_ = false;
};

}  // namespace ffpa_jit
