// How results look: aligned tables for people, JSON for programs, a progress bar where stderr is a
// terminal.
#pragma once

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ffpa_jit::cli {

using Json = nlohmann::ordered_json;

// One JSON document per line. NaN and infinities become null.
void print_json(const Json& value);

// Columns as wide as their widest cell; numbers (right = true) end aligned.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string text() const;
  void print() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Terminal colours, off unless stdout is a terminal and NO_COLOR is unset (https://no-color.org).
std::string good(std::string_view text);
std::string bad(std::string_view text);

std::string milliseconds(double ms);    // "0.412", "31.2", "1280"
std::string byte_count(int64_t bytes);  // "812 B", "1.4 MiB"

// "12/40 name" on one line of stderr, redrawn; prints nothing where stderr is no terminal.
// Thread-safe.
class Progress {
 public:
  Progress(std::string what, size_t total);
  ~Progress();
  void advance(std::string_view name);

 private:
  std::mutex mutex_;
  std::string what_;
  size_t total_, done_ = 0;
  bool shown_;
};

}  // namespace ffpa_jit::cli
