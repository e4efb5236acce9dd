#include "tune/ranks.h"

#include <charconv>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace ffpa_jit {
namespace {

struct Launcher {
  const char *rank, *size, *local_rank, *local_size;
};
// SLURM last: mpirun inside an allocation sees its variables too, those of the step that runs
// mpirun itself.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};

std::optional<int> number(const std::function<const char*(const char*)>& get, const char* name) {
  const char* text = get(name);
  if (!text || !*text) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end != '\0' || value < 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "environment variable {} is '{}'; a number from 0 is expected", name, text);
  }
  return value;
}

}  // namespace

Ranks read_ranks(const std::function<const char*(const char*)>& get) {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number(get, launcher.rank), size = number(get, launcher.size);
    if (!rank || !size) continue;
    Ranks out{*rank, *size, 0, 1};
    const auto local_rank = number(get, launcher.local_rank),
               local_size = number(get, launcher.local_size);
    if (local_rank) out.local_rank = *local_rank;
    out.local_size = local_size ? *local_size : out.local_rank + 1;
    if (out.rank >= out.size || out.local_rank >= out.local_size) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "rank {} of {}, {} of {} on this host ({}): a rank is less than its size",
                  out.rank, out.size, out.local_rank, out.local_size, launcher.rank);
    }
    return out;
  }
  return {};
}

std::vector<int> devices_of(const Ranks& ranks, const std::vector<int>& all) {
  if (all.empty() || ranks.local_size <= 1) return all;
  const size_t count = all.size(), size = static_cast<size_t>(ranks.local_size),
               rank = static_cast<size_t>(ranks.local_rank);
  if (size >= count) return {all[rank % count]};
  std::vector<int> mine;
  for (size_t i = rank; i < count; i += size) mine.push_back(all[i]);
  return mine;
}

}  // namespace ffpa_jit
