// libFuzzer: arbitrary bytes as the cache file, and as a bundle. Only clean answers: a miss or a
// kernel that fits the question, and a put afterwards works.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "cache/sqlite_store.h"

namespace {

using namespace ffpa_jit;
namespace fs = std::filesystem;

struct Directory {
  Directory() {
    std::string name =
        fs::exists("/dev/shm") ? "/dev/shm/ffpa_fuzz_XXXXXX" : "/tmp/ffpa_fuzz_XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    path = name;
  }
  ~Directory() { fs::remove_all(path); }
  fs::path path;
};

void require(bool holds) {
  if (!holds) std::abort();
}

void use(const StoreOptions& options) {
  StoreEnvironment environment;
  environment.file.page_size = 512;
  SqliteStore store(options, null_logger(), environment);
  StoredKernel kernel;
  kernel.key = hash128("kernel 1");
  kernel.compiler = "nvrtc 13.0";
  kernel.bytes.resize(100, std::byte{7});
  if (auto found = store.find_kernel(kernel.key, "another")) require(found->key == kernel.key);
  if (auto found = store.find_tuning({"d", "p", "s"})) require(found->key.device == "d");
  store.acquire_lease(kernel.key, kernel.compiler, std::chrono::milliseconds(0));
  store.put_kernel(kernel);
  const auto found = store.find_kernel(kernel.key, kernel.compiler);
  require(found && found->compiler == kernel.compiler && found->bytes == kernel.bytes);
  store.tunings("");
  store.list();
  store.statistics();
  store.verify();
  try {
    store.gc(100'000);
    store.clear();
  } catch (const Error&) {  // asked for by name: may say no
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Directory root;
  const fs::path directory = root.path / "cache";
  const fs::path file = directory / "cache.sqlite";
  fs::remove_all(directory);
  fs::create_directory(directory);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  StoreOptions as_bundle;
  as_bundle.bundles = {file};
  use(as_bundle);
  StoreOptions as_cache;
  as_cache.directory = directory;
  as_cache.busy_timeout = std::chrono::milliseconds(100);
  use(as_cache);
  return 0;
}
