// Reader and writer of .safetensors files (https://github.com/huggingface/safetensors, "Format").
//
// Who calls: `ffpa-jit run --input`, `--output`, and their tests. A file that is not exactly what
// the format says (duplicate names, holes, overlaps, sizes that disagree with offsets, unknown
// element types, text that is not UTF-8) is an Error naming file, tensor and field; nothing is
// allocated on a header's word alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/host_tensor.h"

namespace ffpa_jit::io {

struct SafetensorsEntry {
  std::string name;
  Element element = Element::kFp32;
  std::vector<int64_t> sizes;
  uint64_t begin = 0;  // within the data that follows the header
  uint64_t end = 0;
};

// The header's text and how many bytes follow it -> entries in the order of the file. `file` is for
// messages.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header, uint64_t data_bytes,
                                                       const std::string& file);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::vector<SafetensorsEntry>& entries() const noexcept { return entries_; }
  const SafetensorsEntry* find(std::string_view name) const noexcept;
  HostTensor read(const SafetensorsEntry& entry) const;

 private:
  InputFile file_;
  uint64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;
};

// Atomic: `path` holds the complete file or is as it was.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors);

}  // namespace ffpa_jit::io
