#include "ffpa-jit/tune_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ffpa-jit/svg.h"
#include "ffpa_jit/ffpa_jit.h"

namespace ffpa_jit::cli {
namespace {

Json json_of(const CandidateResult& candidate) {
  Json out{{"config", text_of(candidate.built.config)}, {"state", name_of(candidate.state)}};
  if (!candidate.reason.empty()) out["reason"] = candidate.reason;
  if (candidate.time_us.samples > 0) {
    out["median_us"] = candidate.time_us.median;
    out["spread_us"] = candidate.time_us.spread;
    out["samples"] = candidate.time_us.samples;
  }
  out["compile_ms"] = candidate.built.compile_ms;
  if (!candidate.built.steps.empty()) {
    Json resources = Json::array();
    for (const BuiltStep& step : candidate.built.steps)
      resources.push_back(text_of(step.resources));
    out["resources"] = std::move(resources);
  }
  return out;
}

std::string chart_of(const TuneResult& result) {
  std::vector<size_t> measured;
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    if (result.candidates[i].time_us.samples > 0) measured.push_back(i);
  }
  std::sort(measured.begin(), measured.end(), [&](size_t a, size_t b) {
    return result.candidates[a].time_us.median < result.candidates[b].time_us.median;
  });
  std::vector<Bar> bars;
  for (const size_t i : measured) {
    const CandidateResult& each = result.candidates[i];
    Bar bar;
    bar.label = text_of(each.built.config);
    bar.value = each.time_us.median;
    bar.error = each.time_us.spread;
    bar.colour = i == result.winner                    ? "#009e73"
                 : i == 0                              ? "#0072b2"
                 : each.state == CandidateState::kTied ? "#bbbbbb"
                                                       : "#dddddd";
    bar.note = i == result.winner ? (i == 0 ? "default, stays" : "winner")
               : i == 0           ? "default"
                                  : std::string(name_of(each.state));
    bars.push_back(std::move(bar));
  }
  return bar_chart(bars, "us");
}

std::string left_out_of(const TuneResult& result) {
  std::string rows;
  for (const CandidateResult& each : result.candidates) {
    if (each.time_us.samples > 0) continue;
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        escaped(text_of(each.built.config)), name_of(each.state),
                        escaped(each.reason.substr(0, 300)));
  }
  if (rows.empty()) return "";
  return fmt::format("<details><summary>not measured</summary><table>{}</table></details>\n", rows);
}

}  // namespace

std::string_view name_of(TuneOutcome::State state) {
  constexpr std::array<std::string_view, 6> kNames = {"tuned",   "default", "present",
                                                      "refused", "failed",  "planned"};
  return kNames[static_cast<size_t>(state)];
}

Json TuneOutcome::json() const {
  Json out{{"state", name_of(state)}, {"device", device},        {"device_name", device_name},
           {"problem", problem},      {"shape", shape},          {"bucket", bucket},
           {"family", family},        {"config", config},        {"default_config", default_config},
           {"reason", reason},        {"candidates", candidates}};
  if (result) {
    const Summary& best = result->best().time_us;
    const Summary& usual = result->candidates.front().time_us;
    out["median_us"] = best.median;
    out["spread_us"] = best.spread;
    out["samples"] = best.samples;
    out["default_us"] = usual.median;
    out["default_spread_us"] = usual.spread;
    out["gain"] = result->gain;
    out["tflops"] = tflops;
    out["default_tflops"] = default_tflops;
    if (result->runner_up != result->winner) {
      out["runner_up"] = text_of(result->candidates[result->runner_up].built.config);
      out["runner_up_us"] = result->candidates[result->runner_up].time_us.median;
    }
    out["tried"] = Json::array();
    for (const CandidateResult& each : result->candidates) out["tried"].push_back(json_of(each));
  }
  out["worker_restarts"] = restarts;
  out["seconds"] = seconds;
  return out;
}

std::string TuneOutcome::line() const {
  const std::string what =
      fmt::format("{} {} {}: {}: ", device, family.empty() ? "-" : family, shape, problem);
  switch (state) {
    case State::kTuned:
      return what + fmt::format("{}, {:.1f} us, {:.1f} TFLOP/s; {}", good(config),
                                result->best().time_us.median, tflops, reason);
    case State::kDefault:
      return what + fmt::format("the default stays ({}), {:.1f} us, {:.1f} TFLOP/s; {}", config,
                                result->best().time_us.median, tflops, reason);
    case State::kPresent:
      return what + fmt::format("tuned already: {} (--overwrite tunes again)", config);
    case State::kPlanned:
      return what + fmt::format("{} candidates, default {}", candidates, default_config);
    case State::kRefused:
      return what + fmt::format("refused: {}", reason);
    case State::kFailed:
      break;
  }
  return what + fmt::format("{}: {}", bad("failed"), reason);
}

std::string tune_report(const std::vector<TuneOutcome>& outcomes) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ffpa-jit "
      "tune</title>\n<style>\n"
      "body {{ font-family: sans-serif; margin: 2em; }}\ntable {{ border-collapse: collapse; }}\n"
      "td, th {{ border: 1px solid #ccc; padding: 2px 8px; text-align: left; font-size: 90%; }}\n"
      "td.n {{ text-align: right; }}\nh2 {{ font-size: 100%; margin-top: 2em; "
      "}}\n</style></head><body>\n"
      "<h1>ffpa-jit tune</h1>\n<p>libffpa_jit {}. Medians of interleaved rounds of device time; "
      "whiskers are the spread "
      "(median absolute deviation, scaled). A config wins only when its lead over the default is "
      "outside the noise.</p>\n",
      ffpa_jit_version());
  html +=
      "<table><tr><th></th><th>device</th><th>family</th><th>shape</th><th>problem</th><th>config</"
      "th><th>us</th>"
      "<th>default us</th><th>gain</th><th>TFLOP/s</th><th>state</th></tr>\n";
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const TuneOutcome& o = outcomes[i];
    const auto number = [&](double value, const char* unit) {
      return o.result ? fmt::format("{:.1f}{}", value, unit) : std::string("-");
    };
    html += fmt::format(
        "<tr><td "
        "class=\"n\">{0}{1}{2}</td><td>{3}</td><td>{4}</td><td>{5}</td><td>{6}</td><td>{7}</td><td "
        "class=\"n\">{8}</td>"
        "<td class=\"n\">{9}</td><td class=\"n\">{10}</td><td "
        "class=\"n\">{11}</td><td>{12}</td></tr>\n",
        o.result ? fmt::format("<a href=\"#t{}\">", i + 1) : "", i + 1, o.result ? "</a>" : "",
        escaped(o.device_name), escaped(o.family), escaped(o.shape), escaped(o.problem),
        escaped(o.config), number(o.result ? o.result->best().time_us.median : 0, ""),
        number(o.result ? o.result->candidates.front().time_us.median : 0, ""),
        number(o.result ? 100 * o.result->gain : 0, " %"), number(o.tflops, ""), name_of(o.state));
  }
  html += "</table>\n";
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const TuneOutcome& o = outcomes[i];
    if (o.state == TuneOutcome::State::kFailed || o.state == TuneOutcome::State::kRefused) {
      html +=
          fmt::format("<h2 id=\"t{0}\">{0}. {1}: {2}</h2><p>{3}: {4}</p>\n", i + 1,
                      escaped(o.shape), escaped(o.problem), name_of(o.state), escaped(o.reason));
    }
    if (!o.result) continue;
    html +=
        fmt::format("<h2 id=\"t{0}\">{0}. {1}: {2}</h2>\n<p>{3}, {4}: {5}.</p>\n{6}{7}", i + 1,
                    escaped(o.shape), escaped(o.problem), escaped(o.device_name), escaped(o.family),
                    escaped(o.reason), chart_of(*o.result), left_out_of(*o.result));
  }
  return html + "</body></html>\n";
}

}  // namespace ffpa_jit::cli
