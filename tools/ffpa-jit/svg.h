// Small charts as SVG text, for reports that are one file: bars side by side, and lines over a few
// lengths.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ffpa_jit::cli {

// &, <, > and quotes as entities: fit for HTML and SVG.
std::string escaped(std::string_view text);

struct Bar {
  std::string label;
  double value = 0;
  double error = 0;  // half the length of the whisker
  std::string colour;
  std::string note;  // shown behind the value
};
// Horizontal bars, one below the other, from 0 on; `unit` follows the values.
std::string bar_chart(const std::vector<Bar>& bars, const std::string& unit);

struct Series {
  std::string name;
  std::vector<std::optional<double>> values;  // one per label; nullopt: none
};
// Lines over `labels` at equal distances, y from 0 on, with a legend.
std::string line_chart(const std::string& title, const std::string& y_title,
                       const std::vector<std::string>& labels, const std::vector<Series>& series);

// One image of several charts of equal size, in rows of `columns`.
std::string chart_page(const std::vector<std::string>& charts, int columns);

}  // namespace ffpa_jit::cli
