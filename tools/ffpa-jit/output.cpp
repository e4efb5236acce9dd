// Tables, JSON lines, colours and the progress bar.
#include "ffpa-jit/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ffpa_jit::cli {
namespace {

bool colours() {
  static const bool on = [] {
    const char* no_color = std::getenv("NO_COLOR");
    return (!no_color || !*no_color) && ::isatty(STDOUT_FILENO) == 1;
  }();
  return on;
}

// Columns a cell takes on screen: escape sequences take none, a UTF-8 character takes one.
size_t width_of(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

}  // namespace

void print_json(const Json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto line = [&](auto&& cell_of) {
    std::string text;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string pad(widths[i] - width_of(cell), ' ');
      text += columns_[i].right ? pad + cell : cell + pad;
      if (i + 1 < columns_.size()) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) line([&](size_t i) -> const std::string& { return row[i]; });
  return out;
}

void Table::print() const {
  fmt::print("{}", text());
  std::fflush(stdout);
}

std::string good(std::string_view text) {
  return colours() ? fmt::format("\x1b[32m{}\x1b[0m", text) : std::string(text);
}
std::string bad(std::string_view text) {
  return colours() ? fmt::format("\x1b[1;31m{}\x1b[0m", text) : std::string(text);
}

std::string milliseconds(double ms) {
  return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : ms < 100 ? 1 : 0);
}

std::string byte_count(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  int unit = -1;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}iB", value, "KMGT"[unit]);
}

Progress::Progress(std::string what, size_t total)
    : what_(std::move(what)), total_(total), shown_(total > 0 && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::advance(std::string_view name) {
  std::lock_guard lock(mutex_);
  ++done_;
  if (!shown_) return;
  constexpr size_t kWidth = 24;
  const size_t filled = kWidth * done_ / total_;
  fmt::print(stderr, "\r\x1b[K{} [{}{}] {}/{} {}", what_, std::string(filled, '#'),
             std::string(kWidth - filled, '.'), done_, total_, name.substr(0, 60));
  std::fflush(stderr);
}

}  // namespace ffpa_jit::cli
