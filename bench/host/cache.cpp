// One kernel of 100 KB out of the store's file and into it. Budgets: 100 us and 1 ms.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/log.h"
#include "cache/store.h"

namespace {

using namespace ffpa_jit;

constexpr size_t kKernelBytes = 100'000;

class Directory {
 public:
  Directory() : path_(std::filesystem::temp_directory_path() / "ffpa_jit_bench_XXXXXX") {
    std::string pattern = path_.string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::filesystem::path path_;
};

// Machine code compresses by about half: half of these bytes are random.
StoredKernel kernel(uint64_t number) {
  std::mt19937_64 random(number);
  StoredKernel k;
  k.key = {number, random()};
  k.compiler = "bench 1";
  k.bytes.resize(kKernelBytes);
  for (size_t i = 0; i < kKernelBytes; i += 2) k.bytes[i] = static_cast<std::byte>(random());
  k.format = "cubin";
  k.entry = "entry";
  k.target = "sm_90a";
  return k;
}

StoreOptions options(const Directory& directory) {
  StoreOptions o;
  o.directory = directory.path_;
  return o;
}

void Put(benchmark::State& state) {
  const Directory directory;
  const auto store = Store::open(options(directory), null_logger());
  uint64_t number = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const StoredKernel k = kernel(++number);
    state.ResumeTiming();
    if (!store->put_kernel(k)) {
      state.SkipWithError("the store runs from memory");
      return;
    }
  }
}
BENCHMARK(Put)->Unit(benchmark::kMicrosecond)->Iterations(300);

// Every look-up is the first of its kernel in a store opened anew, so that none is served from
// memory.
void Get(benchmark::State& state) {
  const Directory directory;
  constexpr uint64_t kKernels = 256;
  std::vector<Hash128> keys;
  {
    const auto store = Store::open(options(directory), null_logger());
    for (uint64_t i = 0; i < kKernels; ++i) {
      const StoredKernel k = kernel(i);
      store->put_kernel(k);
      keys.push_back(k.key);
    }
  }
  std::unique_ptr<Store> store;
  uint64_t next = kKernels;
  for (auto _ : state) {
    if (next == kKernels) {
      state.PauseTiming();
      store = Store::open(options(directory), null_logger());
      next = 0;
      state.ResumeTiming();
    }
    const auto found = store->find_kernel(keys[next++], "bench 1");
    if (!found || found->bytes.size() != kKernelBytes) {
      state.SkipWithError("a stored kernel was not found");
      return;
    }
  }
}
BENCHMARK(Get)->Unit(benchmark::kMicrosecond);

void Open(benchmark::State& state) {
  const Directory directory;
  Store::open(options(directory), null_logger())->put_kernel(kernel(1));
  for (auto _ : state) benchmark::DoNotOptimize(Store::open(options(directory), null_logger()));
}
BENCHMARK(Open)->Unit(benchmark::kMicrosecond);

}  // namespace
