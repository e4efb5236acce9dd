#include "ffpa-jit/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace ffpa_jit::cli {
namespace {

// Told apart with any kind of colour vision (Okabe and Ito).
constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#56b4e9", "#e69f00", "#000000", "#8a7d1c"};
constexpr std::string_view kFont = "font-family=\"sans-serif\" font-size=\"12\"";
constexpr int kChartWidth = 560, kChartHeight = 340;

// 1, 2 or 5 times a power of ten, so that about five steps reach `top`.
double tick_of(double top) {
  const double raw = top / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (raw <= step * power) return step * power;
  }
  return 10 * power;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bar_chart(const std::vector<Bar>& bars, const std::string& unit) {
  constexpr int kRow = 18, kLabel = 430, kWidth = 1000, kBars = 330;
  double top = 1e-9;
  for (const Bar& bar : bars) top = std::max(top, bar.value + bar.error);
  std::string out =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" {}>\n",
                  kWidth, kRow * bars.size() + 6, kFont);
  int y = 4;
  for (const Bar& bar : bars) {
    const double width = bar.value / top * kBars, error = bar.error / top * kBars;
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kLabel - 8, y + 12,
                       escaped(bar.label));
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>",
                       kLabel, y, width, kRow - 4, bar.colour);
    out += fmt::format("<path d=\"M{0:.1f} {2}H{1:.1f}\" stroke=\"#333\"/>", kLabel + width - error,
                       kLabel + width + error, y + kRow / 2 - 2);
    out +=
        fmt::format("<text x=\"{:.1f}\" y=\"{}\">{:.1f} {} {}</text>\n", kLabel + width + error + 6,
                    y + 12, bar.value, escaped(unit), escaped(bar.note));
    y += kRow;
  }
  return out + "</svg>\n";
}

std::string line_chart(const std::string& title, const std::string& y_title,
                       const std::vector<std::string>& labels, const std::vector<Series>& series) {
  constexpr int kLeft = 58, kTop = 34, kPlotWidth = 330, kPlotHeight = 256;
  double top = 1e-9;
  for (const Series& each : series) {
    for (const auto& value : each.values) top = std::max(top, value.value_or(0));
  }
  const double tick = tick_of(top);
  top = std::ceil(top / tick) * tick;
  const auto x_of = [&](size_t i) {
    return kLeft + kPlotWidth * (static_cast<double>(i) + 0.5) /
                       static_cast<double>(std::max<size_t>(labels.size(), 1));
  };
  const auto y_of = [&](double value) { return kTop + kPlotHeight * (1 - value / top); };

  std::string out =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" {}>\n",
                  kChartWidth, kChartHeight, kFont);
  out += fmt::format("<text x=\"{}\" y=\"18\" font-weight=\"bold\">{}</text>\n", kLeft,
                     escaped(title));
  for (double value = 0; value <= top * 1.001; value += tick) {
    out += fmt::format(
        "<path d=\"M{} {:.1f}h{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:g}</text>\n",
        kLeft, y_of(value), kPlotWidth, kLeft - 6, y_of(value) + 4, value);
  }
  out += fmt::format(
      "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      kTop + kPlotHeight / 2, escaped(y_title));
  for (size_t i = 0; i < labels.size(); ++i) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x_of(i),
                       kTop + kPlotHeight + 18, escaped(labels[i]));
  }
  for (size_t n = 0; n < series.size(); ++n) {
    const std::string_view colour = kColours[n % kColours.size()];
    // Past the colours, dashes.
    const std::string dash =
        n < kColours.size() ? ""
                            : fmt::format(" stroke-dasharray=\"{}\"", 3 * (n / kColours.size()));
    std::string path, dots;
    bool pen_down = false;
    for (size_t i = 0; i < series[n].values.size(); ++i) {
      const auto& value = series[n].values[i];
      if (value) {
        path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x_of(i), y_of(*value));
        dots += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: "
            "{:.1f}</title></circle>",
            x_of(i), y_of(*value), colour, escaped(series[n].name), *value);
      }
      pen_down = value.has_value();
    }
    if (!path.empty())
      out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>", path,
                         colour, dash);
    const int y = kTop + 6 + 16 * static_cast<int>(n);
    out += fmt::format(
        "{}<path d=\"M{} {}h18\" stroke=\"{}\" stroke-width=\"2\"{}/><text x=\"{}\" "
        "y=\"{}\">{}</text>\n",
        dots, kLeft + kPlotWidth + 8, y, colour, dash, kLeft + kPlotWidth + 32, y + 4,
        escaped(series[n].name));
  }
  return out + "</svg>\n";
}

std::string chart_page(const std::vector<std::string>& charts, int columns) {
  const int count = static_cast<int>(charts.size());
  const int rows = (count + columns - 1) / columns;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\">\n<rect width=\"100%\" "
      "height=\"100%\" fill=\"white\"/>\n",
      kChartWidth * std::min(columns, std::max(count, 1)), kChartHeight * std::max(rows, 1));
  for (int i = 0; i < count; ++i) {
    out += fmt::format("<g transform=\"translate({} {})\">{}</g>\n", kChartWidth * (i % columns),
                       kChartHeight * (i / columns), charts[static_cast<size_t>(i)]);
  }
  return out + "</svg>\n";
}

}  // namespace ffpa_jit::cli
