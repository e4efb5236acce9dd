#include "runtime/kernel_provider.h"

#include <utility>

#include "base/error.h"

namespace ffpa_jit {
namespace {

// Part of every key: raise it when stored bytes or their texts change meaning.
constexpr std::string_view kFormatVersion = "1";

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\n';
  return text;
}

}  // namespace

KernelProvider::KernelProvider(std::shared_ptr<Store> store, std::shared_ptr<CompilerSet> compilers,
                               CompilerMatch match, std::chrono::milliseconds time_limit,
                               Logger log)
    : store_(std::move(store)),
      compilers_(std::move(compilers)),
      match_(match),
      time_limit_(time_limit),
      log_(std::move(log)) {}

Hash128 KernelProvider::key_of(const KernelSource& source) {
  return hash128_of({source.text, source.entry, text_of(source.target),
                     joined(compile_options(source.target)), kFormatVersion});
}

std::optional<KernelBinary> KernelProvider::find(const KernelSource& source) {
  std::string compiler;
  if (match_ == CompilerMatch::kExact) {
    if (Compiler* here = compilers_->find(source.target, nullptr)) compiler = here->identity();
  }
  return find(key_of(source), compiler);
}

std::optional<KernelBinary> KernelProvider::find(const Hash128& key, const std::string& compiler) {
  std::optional<StoredKernel> stored = store_->find_kernel(key, compiler);
  if (!stored) return std::nullopt;
  KernelBinary binary;
  binary.bytes = std::move(stored->bytes);
  binary.format = binary_format_of(stored->format);
  binary.entry = std::move(stored->entry);
  binary.resources = parse_resources(stored->resources);
  binary.compiler = std::move(stored->compiler);
  binary.log = std::move(stored->log);
  return binary;
}

ProvidedKernel KernelProvider::find_or_compile(const KernelSource& source,
                                               const KernelOrigin& origin) {
  if (std::optional<KernelBinary> hit = find(source)) return {std::move(*hit), true, 0};

  Compiler& compiler = compilers_->for_target(source.target);
  const Hash128 key = key_of(source);
  // One process compiles; the others wait for its row. Whoever waited past the limit compiles too:
  // better twice than never.
  const std::unique_ptr<Lease> lease = store_->acquire_lease(key, compiler.identity(), time_limit_);
  if (std::optional<KernelBinary> hit = find(key, compiler.identity())) {
    return {std::move(*hit), true, 0};
  }
  return compile(key, source, origin, compiler);
}

ProvidedKernel KernelProvider::compile(const Hash128& key, const KernelSource& source,
                                       const KernelOrigin& origin, Compiler& compiler) {
  const Clock::time_point start = Clock::now();
  ProvidedKernel made;
  made.binary = compiler.compile(source, CompileLimits{time_limit_, {}});
  made.compile_ms = milliseconds_since(start);
  log_->info("compiled {} for {} with {} in {:.0f} ms", source.template_name,
             text_of(source.target), compiler.identity(), made.compile_ms);

  StoredKernel row;
  row.key = key;
  row.compiler = made.binary.compiler;
  row.bytes = made.binary.bytes;
  row.format = name_of(made.binary.format);
  row.entry = made.binary.entry;
  row.target = text_of(source.target);
  row.family = origin.family;
  row.problem = origin.problem;
  row.config = origin.config;
  row.resources = text_of(made.binary.resources);
  row.log = made.binary.log;
  row.compile_ms = made.compile_ms;
  made.kept = store_->put_kernel(row);
  return made;
}

}  // namespace ffpa_jit
