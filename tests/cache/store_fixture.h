// Shared by the tests of the store: a directory of its own, kernels to put, warnings to read.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/sqlite_store.h"

namespace ffpa_jit {

namespace fs = std::filesystem;

class TempDirectory {
 public:
  // In memory where there is a tmpfs: some tests open thousands of files.
  explicit TempDirectory(const char* where = fs::exists("/dev/shm") ? "/dev/shm" : "/tmp") {
    std::string name = std::string(where) + "/ffpa_store_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    if (owner_ == ::getpid()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  pid_t owner_ = ::getpid();
};

// Bytes that compress a little, differ for every (seed, size) and need no generator to check.
inline std::vector<std::byte> test_bytes(uint64_t seed, size_t size) {
  std::vector<std::byte> out(size);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t i = 0; i < size; ++i) {
    if (i % 4 == 0) state = state * 6364136223846793005u + 1442695040888963407u;
    out[i] = static_cast<std::byte>(i % 4 < 1 ? state >> 56 : i / 256);
  }
  return out;
}

inline StoredKernel test_kernel(uint64_t seed, size_t size = 300,
                                const std::string& compiler = "nvrtc 13.0") {
  StoredKernel k;
  k.key = hash128("kernel " + std::to_string(seed));
  k.compiler = compiler;
  k.bytes = test_bytes(seed, size);
  k.format = "cubin";
  k.entry = "forward";
  k.target = "sm_90a";
  k.family = "sdpa";
  k.problem = "fwd d" + std::to_string(seed);
  k.config = "block_m=64";
  k.resources = "registers=128";
  k.log = "ok";
  k.compile_ms = 12.5;
  return k;
}

inline Tuning test_tuning(int seed) {
  Tuning t;
  t.key = {"NVIDIA H200", "fwd d" + std::to_string(seed), "n4096"};
  t.family = "sdpa";
  t.config = "block_m=128";
  t.median_us = 100.5 + seed;
  t.spread_us = 1.25;
  t.runner_up = "block_m=64";
  t.runner_up_us = 110;
  t.samples = 30;
  t.library_version = "0.1.0";
  t.driver_version = "580";
  return t;
}

inline bool same(const StoredKernel& a, const StoredKernel& b) {
  return a.key == b.key && a.compiler == b.compiler && a.bytes == b.bytes && a.format == b.format &&
         a.entry == b.entry && a.target == b.target && a.family == b.family &&
         a.problem == b.problem && a.config == b.config && a.resources == b.resources &&
         a.log == b.log && a.compile_ms == b.compile_ms;
}

// A logger that keeps what it was told.
class Warnings {
 public:
  Logger logger() {
    return make_logger(spdlog::level::warn, [this](spdlog::level::level_enum, std::string_view m) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(m);
    });
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::string text() const {
    std::string out;
    for (const std::string& line : lines()) out += line + "\n";
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), bytes.size());
}

class StoreTest : public ::testing::Test {
 protected:
  fs::path directory() const { return temp_.path() / "cache"; }
  fs::path file() const { return directory() / "cache.sqlite"; }

  std::unique_ptr<SqliteStore> open() { return open(options_); }
  std::unique_ptr<SqliteStore> open(const StoreOptions& options) {
    return std::make_unique<SqliteStore>(options, warnings_.logger(), environment_);
  }

  TempDirectory temp_;
  Warnings warnings_;
  StoreOptions options_{.directory = directory()};
  StoreEnvironment environment_;
};

}  // namespace ffpa_jit
