#include "tune/tuner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <random>

#include "base/error.h"
#include "tune/occupancy.h"

namespace ffpa_jit {
namespace {

constexpr int kScreenRounds = 3;       // before the first candidates are left behind
constexpr double kHopeless = 1.25;     // so many times the leader's time after those: out
constexpr int kTieRounds = 24;         // that telling two good candidates apart is worth
constexpr uint64_t kShuffleSeed = 42;  // the order within a round is drawn, the same in every run

class Search {
 public:
  Search(Workbench& bench, std::span<const KernelConfig> configs, const TuneLimits& limits,
         const TuneProgress& progress)
      : bench_(bench), limits_(limits), progress_(progress), samples_(configs.size()) {
    result_.candidates.resize(configs.size());
    build(configs);
  }

  TuneResult run() {
    check();
    start_ = std::chrono::steady_clock::now();
    std::vector<size_t> running = running_candidates();
    running = screen(std::move(running));
    const size_t leader = race(std::move(running));
    decide(leader);
    return std::move(result_);
  }

 private:
  void show(std::string_view stage, size_t done, size_t total) const {
    if (progress_) progress_(stage, done, total);
  }

  CandidateResult& at(size_t i) { return result_.candidates[i]; }

  void out(size_t i, CandidateState state, const std::string& reason) {
    at(i).state = state;
    at(i).reason = reason;
    alive_[i] = false;
  }

  void build(std::span<const KernelConfig> configs) {
    alive_.assign(configs.size(), true);
    left_behind_.assign(configs.size(), false);
    for (size_t begin = 0; begin < configs.size(); begin += limits_.batch) {
      show("compiling", begin, configs.size());
      const size_t count = std::min(limits_.batch, configs.size() - begin);
      std::vector<Built> built = bench_.build(configs.subspan(begin, count));
      for (size_t i = 0; i < count; ++i) at(begin + i).built = std::move(built[i]);
    }
    const Built& usual = at(0).built;
    if (!usual.failure.empty()) {
      throw_error(FFPA_JIT_COMPILE_FAILED, "the default config '{}' cannot be built: {}",
                  text_of(usual.config), usual.failure);
    }
    for (size_t i = 1; i < configs.size(); ++i) {
      if (!at(i).built.failure.empty()) {
        out(i, CandidateState::kFailed, at(i).built.failure);
      } else if (const auto reason = prune_reason(at(i).built, usual, bench_.device())) {
        out(i, CandidateState::kPruned, *reason);
      }
    }
  }

  std::vector<size_t> running_candidates() const {
    std::vector<size_t> all;
    for (size_t i = 0; i < alive_.size(); ++i) {
      if (alive_[i]) all.push_back(i);
    }
    return all;
  }

  void check() {
    const std::vector<size_t> all = running_candidates();
    for (size_t n = 0; n < all.size(); ++n) {
      const size_t i = all[n];
      show("checking", n, all.size());
      try {
        const std::string difference = bench_.check(at(i).built.config);
        if (difference.empty()) continue;
        if (i == 0)
          throw_error(FFPA_JIT_INTERNAL, "the default config differs from itself: {}", difference);
        out(i, CandidateState::kDifferent, difference);
      } catch (const Error& error) {
        if (i == 0) throw;
        out(i, CandidateState::kFailed, error.what());
      }
    }
  }

  bool time_left() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() <
           limits_.budget_s;
  }

  // One sample of each, in drawn order. A candidate that dies is out.
  void round(std::vector<size_t>& running, std::vector<std::vector<double>>& samples) {
    std::shuffle(running.begin(), running.end(), random_);
    for (const size_t i : running) {
      try {
        samples[i].push_back(bench_.time_us(at(i).built.config));
      } catch (const Error& error) {
        if (i == 0) throw;
        out(i, CandidateState::kFailed, error.what());
      }
    }
    std::erase_if(running, [&](size_t i) { return !alive_[i]; });
    std::sort(running.begin(), running.end());
  }

  double median(size_t i) const { return summary_of(samples_[i]).median; }

  size_t fastest(const std::vector<size_t>& running) const {
    return *std::min_element(running.begin(), running.end(),
                             [&](size_t a, size_t b) { return median(a) < median(b); });
  }

  // The default is never left behind: it is what the others are measured against.
  template <typename Slow>
  void leave_behind(std::vector<size_t>& running, const Slow& slow) {
    std::erase_if(running, [&](size_t i) {
      if (i == 0 || !slow(i)) return false;
      left_behind_[i] = true;
      return true;
    });
  }

  // A few rounds of all, of the default too where it is alone; what is far behind goes.
  std::vector<size_t> screen(std::vector<size_t> running) {
    for (int n = 0; n < kScreenRounds && !running.empty(); ++n) {
      show("screening", n, kScreenRounds);
      round(running, samples_);
      if (n > 0 && !time_left()) break;
    }
    if (running.size() < 2) return running;
    const double best = median(fastest(running));
    leave_behind(running, [&](size_t i) { return median(i) > kHopeless * best; });
    return running;
  }

  // Rounds of what is left, each dropping what is slower than the leader beyond noise, until the
  // leader has the default behind it or nothing but time is left. The default runs along to the
  // end.
  size_t race(std::vector<size_t> running) {
    for (int n = 0; n < limits_.max_rounds && running.size() > 1; ++n) {
      if (n > 0 && !time_left()) break;
      show("measuring", n, limits_.max_rounds);
      round(running, samples_);
      const size_t leader = fastest(running);
      leave_behind(running, [&](size_t i) {
        return i != leader && compare(samples_[i], samples_[leader]).slower();
      });
      const bool decided = compare(samples_[leader], samples_[0]).faster_by(limits_.least_gain);
      if (running.size() <= 2 && (decided || leader == 0) && n + 1 >= Comparison::kLeastRounds)
        break;
      if (decided && n + 1 >= kTieRounds) break;  // what is left beside the leader is as fast
    }
    if (running.size() < 2) return 0;
    // Of those that cannot be told from the leader, the one nearest to the default.
    const size_t leader = fastest(running);
    for (const size_t i : running) {
      if (i != 0 && !compare(samples_[leader], samples_[i]).faster_by(0)) return i;
    }
    return leader;
  }

  // The leader was chosen for its samples, so they flatter it: it meets the default again, on fresh
  // ones.
  void decide(size_t leader) {
    at(0).time_us = summary_of(samples_[0]);
    at(leader).time_us = summary_of(samples_[leader]);
    if (leader != 0) confirm(leader);
    relate_to(leader);
    const CandidateResult& winner = at(result_.winner);
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (!alive_[i] || samples_[i].empty()) continue;
      const bool slower =
          left_behind_[i] || compare(samples_[i], samples_[result_.winner]).slower();
      at(i).state = i == result_.winner ? CandidateState::kWinner
                    : slower            ? CandidateState::kSlower
                                        : CandidateState::kTied;
    }
    std::optional<size_t> next;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (i == result_.winner || !alive_[i] || samples_[i].empty()) continue;
      if (!next || at(i).time_us.median < at(*next).time_us.median) next = i;
    }
    result_.runner_up = next.value_or(result_.winner);
    if (result_.winner == 0 && result_.reason.empty()) {
      result_.reason =
          result_.candidates.size() == 1 ? "the family has no other config for this problem"
          : next ? fmt::format("no config is faster than the default ({:.1f} us) beyond noise",
                               winner.time_us.median)
                 : "no other config could be measured";
    }
  }

  // The others' times, as they would be beside the leader's: some ran while the device was cooler.
  void relate_to(size_t leader) {
    for (size_t i = 1; i < samples_.size(); ++i) {
      if (i == leader || samples_[i].empty()) continue;
      at(i).time_us = summary_of(samples_[i]);
      if (samples_[leader].empty()) continue;
      const double now = at(leader).time_us.median * compare(samples_[leader], samples_[i]).ratio;
      at(i).time_us.spread *= now / at(i).time_us.median;
      at(i).time_us.median = now;
    }
  }

  void confirm(size_t leader) {
    std::vector<std::vector<double>> fresh(samples_.size());
    std::vector<size_t> pair{0, leader};
    Comparison lead;
    for (int n = 0; n < limits_.max_rounds; ++n) {
      if (n >= Comparison::kLeastRounds && !time_left()) break;
      show("confirming", n, limits_.max_rounds);
      round(pair, fresh);
      if (pair.size() < 2) return;  // the leader died
      lead = compare(fresh[leader], fresh[0]);
      if (lead.faster_by(limits_.least_gain) || lead.slower()) break;
    }
    at(0).time_us = summary_of(fresh[0]);
    at(leader).time_us = summary_of(fresh[leader]);
    if (lead.faster_by(limits_.least_gain)) {
      result_.winner = leader;
      result_.gain = lead.ratio - 1;
      result_.reason =
          fmt::format("{:.1f} % faster than the default (+- {:.1f}), over {} interleaved rounds",
                      100 * result_.gain, 50 * (lead.high - lead.low), lead.rounds);
      return;
    }
    result_.reason = fmt::format(
        "'{}' leads the default by {:.1f} % (+- {:.1f}): within noise, or below {:.0f} %",
        text_of(at(leader).built.config), 100 * (lead.ratio - 1), 50 * (lead.high - lead.low),
        100 * limits_.least_gain);
  }

  Workbench& bench_;
  const TuneLimits& limits_;
  const TuneProgress& progress_;
  TuneResult result_;
  std::vector<bool> alive_, left_behind_;
  std::vector<std::vector<double>> samples_;
  std::chrono::steady_clock::time_point start_;
  std::mt19937_64 random_{kShuffleSeed};
};

}  // namespace

std::string_view name_of(CandidateState state) {
  constexpr std::array<std::string_view, 6> kNames = {"failed", "pruned", "different",
                                                      "slower", "tied",   "winner"};
  return kNames[static_cast<size_t>(state)];
}

TuneResult tune(Workbench& bench, std::span<const KernelConfig> configs, const TuneLimits& limits,
                const TuneProgress& progress) {
  return Search(bench, configs, limits, progress).run();
}

}  // namespace ffpa_jit
