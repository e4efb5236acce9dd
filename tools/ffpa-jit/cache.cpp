// ffpa-jit cache: look into the kernel cache and look after it.
#include <CLI/CLI.hpp>
#include <ctime>
#include <memory>

#include "ffpa-jit/output.h"
#include "ffpa-jit/session.h"

namespace ffpa_jit::cli {
namespace {

std::string time_text(int64_t unix_seconds) {
  const std::time_t time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json summary_json(const KernelSummary& each) {
  const StoredKernel& kernel = each.kernel;
  return {{"key", kernel.key.hex()},
          {"target", kernel.target},
          {"family", kernel.family},
          {"problem", kernel.problem},
          {"config", kernel.config},
          {"compiler", kernel.compiler},
          {"format", kernel.format},
          {"entry", kernel.entry},
          {"resources", kernel.resources},
          {"compile_ms", kernel.compile_ms},
          {"bytes", each.raw_bytes},
          {"stored_bytes", each.stored_bytes},
          {"created", time_text(each.created)},
          {"last_used", time_text(each.last_used)},
          {"hits", each.hits},
          {"layer", each.layer}};
}

// The store of a Runtime. Commands that change it refuse one that lives in memory only.
class OpenCache {
 public:
  explicit OpenCache(const Session& session) : runtime_(open_runtime(session)) {}
  Store& store() { return inside(runtime_).store(); }
  Store& on_disk() { return store_on_disk(runtime_); }

 private:
  ffpa::Runtime runtime_;
};

int stat(const Session& session) {
  OpenCache cache(session);
  const StoreStatistics s = cache.store().statistics();
  if (session.json) {
    print_json({{"kernels", s.kernels},
                {"bytes", s.bytes},
                {"compiles", s.compiles},
                {"hits", s.hits},
                {"tunings", s.tunings},
                {"path", s.path},
                {"mode", s.mode},
                {"reason", s.reason}});
    return kOk;
  }
  fmt::print(
      "path      {}\nmode      {}\nkernels   {}\ntunings   {}\nbytes     {} ({})\ncompiles  "
      "{}\nhits      {}\n",
      s.path.empty() ? "(memory only)" : s.path, s.mode, s.kernels, s.tunings, s.bytes,
      byte_count(s.bytes), s.compiles, s.hits);
  if (!s.reason.empty()) fmt::print("reason    {}\n", s.reason);
  return kOk;
}

int list(const Session& session) {
  OpenCache cache(session);
  const std::vector<KernelSummary> kernels = cache.store().list();
  if (session.json) {
    Json out = Json::array();
    for (const KernelSummary& each : kernels) out.push_back(summary_json(each));
    print_json({{"kernels", out}});
    return kOk;
  }
  Table table({{"key"},
               {"target"},
               {"family"},
               {"problem"},
               {"config"},
               {"size", true},
               {"hits", true},
               {"last used"}});
  for (const KernelSummary& each : kernels) {
    table.add({each.kernel.key.hex().substr(0, 12), each.kernel.target, each.kernel.family,
               each.kernel.problem, each.kernel.config, byte_count(each.stored_bytes),
               std::to_string(each.hits), time_text(each.last_used)});
  }
  table.print();
  return kOk;
}

int show(const Session& session, const std::string& prefix) {
  OpenCache cache(session);
  std::vector<KernelSummary> found;
  for (KernelSummary& each : cache.store().list()) {
    if (each.kernel.key.hex().starts_with(prefix)) found.push_back(std::move(each));
  }
  if (found.empty() || prefix.empty()) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "no kernel's key begins with '{}'; `ffpa-jit cache list` prints the keys", prefix);
  }
  for (const KernelSummary& each : found) {
    Json out = summary_json(each);
    out["log"] = each.kernel.log;
    if (session.json) {
      print_json(out);
      continue;
    }
    for (const auto& [field, value] : out.items()) {
      fmt::print("{:<14}{}\n", field, value.is_string() ? value.get<std::string>() : value.dump());
    }
    if (found.size() > 1) fmt::print("\n");
  }
  return kOk;
}

int verify(const Session& session) {
  OpenCache cache(session);
  const Store::VerifyReport report = cache.store().verify();
  if (session.json) {
    print_json({{"checked", report.checked},
                {"problems", report.problems},
                {"ok", report.problems.empty()}});
  } else {
    for (const std::string& problem : report.problems) fmt::print("{}\n", problem);
    fmt::print(stderr, "{} kernels checked, {} problems\n", report.checked, report.problems.size());
  }
  return report.problems.empty() ? kOk : kFailed;
}

int print_freed(const Session& session, const Store::Freed& freed) {
  if (session.json) {
    print_json({{"kernels", freed.kernels}, {"bytes", freed.bytes}, {"dry_run", session.dry_run}});
  } else {
    fmt::print("{} {} kernels, {}\n", session.dry_run ? "would remove" : "removed", freed.kernels,
               byte_count(freed.bytes));
  }
  return kOk;
}

// What gc would evict: the least recently used of the user's own file, until the limit holds.
Store::Freed evicted_by(Store& store, int64_t limit) {
  const std::string own = store.statistics().path;
  std::vector<KernelSummary> kernels = store.list();
  std::erase_if(kernels, [&](const KernelSummary& each) { return each.layer != own; });
  std::sort(kernels.begin(), kernels.end(),
            [](const auto& a, const auto& b) { return a.last_used < b.last_used; });
  int64_t total = 0;
  for (const KernelSummary& each : kernels) total += each.stored_bytes;
  Store::Freed freed;
  for (size_t i = 0; i < kernels.size() && total - freed.bytes > limit; ++i) {
    ++freed.kernels;
    freed.bytes += kernels[i].stored_bytes;
  }
  return freed;
}

int gc(const Session& session, const std::optional<uint64_t>& limit) {
  OpenCache cache(session);
  Store& store = cache.on_disk();
  const int64_t bytes = limit ? static_cast<int64_t>(std::min<uint64_t>(*limit, INT64_MAX))
                              : Environment::read().cache_limit_bytes;
  return print_freed(session, session.dry_run ? evicted_by(store, bytes) : store.gc(bytes));
}

int clear(const Session& session) {
  OpenCache cache(session);
  Store& store = cache.on_disk();
  return print_freed(session, session.dry_run ? evicted_by(store, -1) : store.clear());
}

int export_to(const Session& session, const std::filesystem::path& file) {
  OpenCache cache(session);
  const int64_t kernels = cache.store().export_to(file);
  if (session.json) {
    print_json({{"kernels", kernels}, {"file", file.string()}});
  } else {
    fmt::print("{} kernels written to {}; read it through FFPA_JIT_CACHE_PATH, or import it\n",
               kernels, file.string());
  }
  return kOk;
}

int merge_from(const Session& session, const std::vector<std::filesystem::path>& files) {
  OpenCache cache(session);
  Store& store = cache.on_disk();
  Store::Merged total;
  for (const std::filesystem::path& file : files) {
    const Store::Merged merged = store.merge_from(file);
    total.added += merged.added;
    total.present += merged.present;
    total.damaged += merged.damaged;
  }
  if (session.json) {
    print_json({{"added", total.added}, {"present", total.present}, {"damaged", total.damaged}});
  } else {
    fmt::print("{} kernels added, {} were there already, {} damaged ones skipped\n", total.added,
               total.present, total.damaged);
  }
  return total.damaged ? kFailed : kOk;
}

}  // namespace

void add_cache_command(CLI::App& app, Session& session) {
  CLI::App* cache = app.add_subcommand("cache", "Look into the kernel cache and look after it");
  cache->require_subcommand(1);
  add_common_options(*cache, session);
  const auto add = [&](const char* name, const char* about, std::function<int()> action) {
    CLI::App* command = cache->add_subcommand(name, about);
    add_common_options(*command, session);
    command->callback([action, &session] { session.action = action; });
    return command;
  };
  add("stat", "Kernels, bytes, compiles and hits, where it lies and how it is opened",
      [&] { return stat(session); });
  add("list", "Every kernel, with its problem, config and use", [&] { return list(session); });

  auto key = std::make_shared<std::string>();
  add("show", "Everything about one kernel", [key, &session] { return show(session, *key); })
      ->add_option("KEY", *key, "The key, or how it begins (see `cache list`)")
      ->required();

  add("verify", "Check every kernel's bytes against their digest; exit code 1 when one is damaged",
      [&] { return verify(session); });

  auto limit = std::make_shared<std::optional<uint64_t>>();
  CLI::App* collect =
      add("gc", "Remove the least recently used kernels until the cache fits, and compact the file",
          [limit, &session] { return gc(session, *limit); });
  collect
      ->add_option("--limit", *limit, "Bytes to keep, e.g. 512MB (default: FFPA_JIT_CACHE_LIMIT)")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
  collect->add_flag("--dry-run", session.dry_run, "Say what would be removed; remove nothing");

  auto file = std::make_shared<std::filesystem::path>();
  add("export", "Write all kernels into one self-contained file",
      [file, &session] { return export_to(session, *file); })
      ->add_option("FILE", *file, "The file to write; complete or absent")
      ->required();

  auto bundle = std::make_shared<std::filesystem::path>();
  add("import", "Add the kernels of an exported file; exit code 1 when some of it is damaged",
      [bundle, &session] { return merge_from(session, {*bundle}); })
      ->add_option("FILE", *bundle, "A file that `cache export` wrote")
      ->required();

  auto files = std::make_shared<std::vector<std::filesystem::path>>();
  add("merge", "Add the kernels of other machines' caches; exit code 1 when some are damaged",
      [files, &session] { return merge_from(session, *files); })
      ->add_option("FILE", *files, "Cache files, or files that `cache export` wrote")
      ->required();

  CLI::App* empty = add("clear", "Remove every kernel and tuning", [&] { return clear(session); });
  empty->add_flag("--dry-run", session.dry_run, "Say what would be removed; remove nothing");
}

}  // namespace ffpa_jit::cli
