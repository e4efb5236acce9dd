// Tuning files: tunings as JSON, one file per device: what `ffpa-jit tune --export` writes, what
// cache/tuned/ ships with the library, and what FFPA_JIT_TUNED_CONFIG_DIR names.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store.h"

namespace ffpa_jit {

// Throws Error INVALID_ARGUMENT naming `file`, the row and the field.
std::vector<Tuning> parse_tuning_file(std::string_view text, const std::string& file);
// Throws Error IO_ERROR, and as above.
std::vector<Tuning> read_tuning_file(const std::filesystem::path& path);

// Rows of one device; sorted, so that the same rows give the same text.
std::string tuning_file_text(const std::string& device, std::vector<Tuning> rows);

struct EmbeddedTuningFile {
  std::string_view name;  // "nvidia-h200.json"
  std::string_view text;
};
std::span<const EmbeddedTuningFile> embedded_tuning_files();

}  // namespace ffpa_jit
