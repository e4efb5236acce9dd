#include "cache/packing.h"

#include <zstd.h>

#include <bit>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "cache/sqlite.h"

namespace ffpa_jit {
namespace {

// Level 1 halves a cubin at ~500 MB/s; higher levels gain a few per cent and would break the 1 ms
// budget.
constexpr int kCompressionLevel = 1;

// A context is ~100 KB of tables; making one per call costs more than the call.
ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                                  ZSTD_freeCCtx);
  return context.get();
}

ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  ZSTD_freeDCtx);
  return context.get();
}

std::string bits(double value) {
  const auto raw = std::bit_cast<uint64_t>(sqlite::storable(value));
  return std::string(reinterpret_cast<const char*>(&raw), sizeof(raw));
}

Hash128 digest_of(const StoredKernel& k, std::span<const std::byte> raw) {
  return hash128_of({k.key.hex(), k.compiler, hash128(raw).hex(), bits(k.compile_ms), k.format,
                     k.entry, k.target, k.family, k.problem, k.config, k.resources, k.log});
}

}  // namespace

PackedKernel pack(const StoredKernel& kernel) {
  PackedKernel out;
  out.kernel = kernel;
  out.kernel.bytes = {};
  out.digest = digest_of(kernel, kernel.bytes);
  out.raw_bytes = static_cast<int64_t>(kernel.bytes.size());
  out.packed.resize(ZSTD_compressBound(kernel.bytes.size()));
  ZSTD_CCtx* context = compressor();
  const size_t size =
      context ? ZSTD_compressCCtx(context, out.packed.data(), out.packed.size(),
                                  kernel.bytes.data(), kernel.bytes.size(), kCompressionLevel)
              : size_t{0};
  if (!context || ZSTD_isError(size)) throw std::bad_alloc();  // the only way this can fail
  out.packed.resize(size);
  return out;
}

std::optional<StoredKernel> unpack(PackedKernel&& packed) {
  const std::vector<std::byte>& in = packed.packed;
  if (packed.raw_bytes < 0 || packed.raw_bytes > kMaxKernelBytes) return std::nullopt;
  const auto raw_bytes = static_cast<size_t>(packed.raw_bytes);
  if (ZSTD_getFrameContentSize(in.data(), in.size()) != raw_bytes) return std::nullopt;
  StoredKernel out = std::move(packed.kernel);
  out.bytes.resize(raw_bytes);
  ZSTD_DCtx* context = decompressor();
  if (!context) throw std::bad_alloc();
  const size_t size =
      ZSTD_decompressDCtx(context, out.bytes.data(), out.bytes.size(), in.data(), in.size());
  if (ZSTD_isError(size) || size != raw_bytes) return std::nullopt;
  if (digest_of(out, out.bytes) != packed.digest) return std::nullopt;
  return out;
}

Hash128 digest_of(const Tuning& t) {
  return hash128_of({t.key.device, t.key.problem, t.key.shape_bucket, t.family, t.config,
                     bits(t.median_us), bits(t.spread_us), t.runner_up, bits(t.runner_up_us),
                     std::to_string(t.samples), t.library_version, t.driver_version});
}

}  // namespace ffpa_jit
