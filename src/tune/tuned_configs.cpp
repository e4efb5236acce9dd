#include "tune/tuned_configs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tune/shape_bucket.h"
#include "tune/tuning_file.h"

namespace ffpa_jit {
namespace {

constexpr std::string_view kMemory = ", memory ";
// Rows farther than this say too little: two classes are a factor of four.
constexpr int kMaxDistance = 2;
// A fact that hardly changes which tiles are fast counts as so many classes.
constexpr int kFactDistance = 1;

// The facts of `row` that may differ from the problem's are made equal; how many did. What is left
// unequal makes another kernel.
int take_over_minor_facts(Problem& row, const Problem& problem) {
  int changed = 0;
  const auto take = [&](auto Problem::*fact) {
    if (row.*fact == problem.*fact) return;
    row.*fact = problem.*fact;
    ++changed;
  };
  take(&Problem::lse);
  take(&Problem::gqa_group);
  if (row.layout != Layout::kVarlen && problem.layout != Layout::kVarlen) take(&Problem::layout);
  if (row.dtype != DType::kFp32 && problem.dtype != DType::kFp32) take(&Problem::dtype);
  return changed;
}

std::optional<int> problem_distance(Problem row, const Problem& problem) {
  if (row == problem) return 0;
  const int changed = take_over_minor_facts(row, problem);
  if (!(row == problem)) return std::nullopt;
  return changed * kFactDistance;
}

}  // namespace

std::optional<int> tuning_distance(const Problem& row, const Shape& row_shape,
                                   const Problem& problem, const Shape& shape) {
  const std::optional<int> facts = problem_distance(row, problem);
  if (!facts) return std::nullopt;
  const std::optional<int> sizes = bucket_distance(row_shape, shape);
  if (!sizes || *facts + *sizes > kMaxDistance) return std::nullopt;
  return *facts + *sizes;
}

std::string TunedConfig::reason() const {
  const auto [family, bucket] = parse_tuning_shape(tuning.key.shape_bucket);
  return fmt::format("config tuned for {}{}: {:.1f} us (+- {:.1f}), from {}", bucket,
                     distance == 0 ? "" : fmt::format(" of '{}', the nearest", tuning.key.problem),
                     tuning.median_us, tuning.spread_us, source);
}

TuningKey tuning_key(std::string_view family, const Problem& problem, const Shape& shape,
                     const DeviceInfo& device) {
  return {device.identity, text_of(problem),
          fmt::format("{} {}", family, bucket_text(problem, shape))};
}

std::string library_version() {
  return fmt::format("{}.{}.{}", FFPA_JIT_VERSION_MAJOR, FFPA_JIT_VERSION_MINOR,
                     FFPA_JIT_VERSION_PATCH);
}

std::pair<std::string, std::string> parse_tuning_shape(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  return {std::string(text.substr(0, space)),
          std::string(text.substr(std::min(space + 1, text.size())))};
}

bool same_device(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const size_t end_a = a.rfind(kMemory), end_b = b.rfind(kMemory);
  const bool one_unknown = (end_a == std::string_view::npos) != (end_b == std::string_view::npos);
  return one_unknown && a.substr(0, end_a) == b.substr(0, end_b);
}

TunedConfigs::TunedConfigs(std::shared_ptr<Store> store, Options options, Logger log)
    : store_(std::move(store)), options_(std::move(options)), log_(std::move(log)) {
  if (options_.skip) return;
  if (!options_.directory.empty()) {
    std::error_code error;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory, error)) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
    if (error) log_->warn("no tunings from {}: {}", options_.directory.string(), error.message());
    std::sort(paths.begin(), paths.end());
    for (const std::filesystem::path& path : paths) {
      try {
        files_.emplace_back(path.string(), read_tuning_file(path));
      } catch (const Error& failure) {
        log_->warn("passed over: {}", failure.what());
      }
    }
  }
  if (!options_.shipped) return;
  for (const EmbeddedTuningFile& file : embedded_tuning_files()) {
    try {
      files_.emplace_back(fmt::format("the library's {}", file.name),
                          parse_tuning_file(file.text, std::string(file.name)));
    } catch (const Error& failure) {
      log_->error("passed over: {}", failure.what());
    }
  }
}

void TunedConfigs::add(std::vector<Row>& rows, std::vector<Tuning> tunings,
                       const std::string& source, const std::string& device) {
  for (Tuning& tuning : tunings) {
    if (!same_device(tuning.key.device, device)) continue;
    try {
      Row row;
      row.problem = parse_problem(tuning.key.problem);
      row.shape = parse_bucket(row.problem, parse_tuning_shape(tuning.key.shape_bucket).second);
      row.config = parse_config(tuning.config);
      row.source = source;
      row.tuning = std::move(tuning);
      rows.push_back(std::move(row));
    } catch (const Error& error) {  // written by a version that says things otherwise
      log_->debug("a tuning of '{}' from {} is passed over: {}", tuning.key.problem, source,
                  error.what());
    }
  }
}

const std::vector<TunedConfigs::Row>& TunedConfigs::rows_of(const DeviceInfo& device) {
  const auto [found, fresh] = rows_.try_emplace(device.identity);
  if (!fresh) return found->second;
  add(found->second, store_->tunings(""), std::string(kCacheSource), device.identity);
  for (const auto& [name, tunings] : files_) add(found->second, tunings, name, device.identity);
  return found->second;
}

std::optional<TunedConfig> TunedConfigs::find(const KernelFamily& family, const Problem& problem,
                                              const Shape& shape, const DeviceInfo& device) {
  if (options_.skip) return std::nullopt;
  struct Match {
    const Row* row;
    int distance;
  };
  std::vector<Match> matches;
  std::lock_guard lock(mutex_);
  for (const Row& row : rows_of(device)) {
    if (row.tuning.family != family.name()) continue;
    const std::optional<int> distance = tuning_distance(row.problem, row.shape, problem, shape);
    if (distance) matches.push_back({&row, *distance});
  }
  // Of equally near rows the first source's.
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& a, const Match& b) { return a.distance < b.distance; });
  for (const Match& match : matches) {
    if (!is_candidate(family, problem, shape, device, match.row->config)) {
      log_->debug("a tuning of '{}' from {} is passed over: this version has no config '{}' for it",
                  match.row->tuning.key.problem, match.row->source, match.row->tuning.config);
      continue;
    }
    TunedConfig out;
    out.config = match.row->config;
    out.tuning = match.row->tuning;
    out.distance = match.distance;
    out.source = match.row->source;
    out.other_version = match.row->tuning.library_version != library_version();
    return out;
  }
  return std::nullopt;
}

bool TunedConfigs::put(const Tuning& tuning) {
  const bool stored = store_->put_tuning(tuning);
  std::lock_guard lock(mutex_);
  rows_.clear();  // read again
  return stored;
}

}  // namespace ffpa_jit
