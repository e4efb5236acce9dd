#include "ffpa-jit/tune_tasks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <set>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "tune/shape_bucket.h"

namespace ffpa_jit::cli {
namespace {

std::vector<RecordedProblem> problems_of(const TuneOptions& options, const DeviceRef& device) {
  std::vector<RecordedProblem> out;
  for (const std::filesystem::path& path : options.from) {
    const std::vector<RecordedProblem> recorded = read_record_file(path);
    const size_t before = out.size();
    std::copy_if(
        recorded.begin(), recorded.end(), std::back_inserter(out),
        [&](const RecordedProblem& each) { return parse_device(each.device).kind == device.kind; });
    if (out.size() == before) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "--from {}: none of its {} problems ran on such a device as {}; name another "
                  "with --device",
                  path.string(), recorded.size(), text_of(device));
    }
  }
  if (options.full_tasks) {
    for (const TaskProblem& each : task_problems(options.grid)) {
      out.push_back(record_of(DescribedProblem(each.spec, device).call()));
    }
  }
  if (out.empty() && options.from.empty()) {
    out.push_back(record_of(DescribedProblem(options.problem.spec(), device).call()));
  }
  return out;
}

}  // namespace

std::vector<DeviceRef> tuned_devices(const TuneOptions& options, const Ranks& ranks) {
  std::vector<int> gpus;
  const auto all_gpus = [&] {
    std::string why;
    const size_t count = list_cuda_devices(&why).size();
    if (count == 0 && !options.gpus.empty())
      throw_error(FFPA_JIT_NO_DEVICE, "--gpus {}: {}", options.gpus, why);
    std::vector<int> all;
    for (size_t i = 0; i < count; ++i) all.push_back(static_cast<int>(i));
    return all;
  };
  if (!options.gpus.empty() && options.gpus != "all") {
    for (const std::string& word : CLI::detail::split(options.gpus, ',')) {
      int index = 0;
      if (!CLI::detail::lexical_cast(word, index) || index < 0) {
        throw_error(FFPA_JIT_INVALID_ARGUMENT, "--gpus is '{}'; allowed: all, or numbers: 0,1",
                    options.gpus);
      }
      gpus.push_back(index);
    }
  } else if (options.gpus == "all") {
    gpus = all_gpus();
  } else if (!options.device.empty()) {
    return {parse_device(options.device)};
  } else {
    gpus = all_gpus();
    if (ranks.local_size == 1 && gpus.size() > 1) gpus.resize(1);  // more only when asked for
  }
  if (gpus.empty()) return {{TargetKind::kCpu, 0}};
  std::vector<DeviceRef> out;
  for (const int index : ffpa_jit::devices_of(ranks, gpus))
    out.push_back({TargetKind::kCuda, index});
  return out;
}

std::vector<TuneTask> tuned_tasks(const TuneOptions& options, const DeviceRef& device,
                                  const Ranks& ranks) {
  std::vector<TuneTask> all;
  std::set<std::string> seen;
  for (RecordedProblem& problem : problems_of(options, device)) {
    const std::vector<std::string> families =
        options.families.empty() ? std::vector<std::string>{""} : options.families;
    for (const std::string& family : families) {
      const std::string key =
          fmt::format("{}|{}|{}", family.empty() ? problem.family : family,
                      text_of(problem.problem), bucket_text(problem.problem, problem.shape));
      if (seen.insert(key).second) all.push_back({problem, family});
    }
  }
  std::vector<TuneTask> mine;
  for (size_t i = static_cast<size_t>(ranks.rank); i < all.size();
       i += static_cast<size_t>(ranks.size)) {
    mine.push_back(std::move(all[i]));
  }
  return mine;
}

}  // namespace ffpa_jit::cli
