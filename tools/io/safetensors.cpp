// The safetensors format: u64 header length, JSON header, data.
#include "io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace ffpa_jit::io {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kHeaderLimit = 100'000'000;  // the reference implementation's limit
constexpr size_t kRankLimit = 32;

constexpr std::array<std::pair<std::string_view, Element>, 7> kDtypes = {{
    {"F32", Element::kFp32},
    {"F16", Element::kFp16},
    {"BF16", Element::kBf16},
    {"BOOL", Element::kBool},
    {"U8", Element::kUint8},
    {"I32", Element::kInt32},
    {"I64", Element::kInt64},
}};

std::string_view dtype_text(Element element) {
  return std::find_if(kDtypes.begin(), kDtypes.end(),
                      [&](const auto& row) { return row.second == element; })
      ->first;
}

// Builds the entries while the JSON is read, so that neither depth nor size of a hostile header
// costs memory beyond its own text. Level 1 holds tensor names, level 2 the fields of one tensor.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::vector<SafetensorsEntry> take() { return std::move(entries_); }

  bool start_object(std::size_t) override {
    if (level_ >= 2 || array_) fail("an object where none may stand");
    ++level_;
    if (level_ == 2) {
      current_ = {};
      current_.name = name_;
      seen_dtype_ = seen_shape_ = false;
      offsets_.clear();
      fields_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (level_ == 2 && !in_metadata()) finish_entry();
    --level_;
    return true;
  }
  bool key(string_t& text) override {
    if (level_ == 1) {
      name_ = text;
      field_.clear();
      if (!names_.insert(text).second) fail("the name appears twice");
    } else {
      field_ = text;
      if (!fields_.insert(text).second) fail("the field appears twice");
      if (!in_metadata() && text != "dtype" && text != "shape" && text != "data_offsets") {
        fail("no such field; allowed: dtype, shape, data_offsets");
      }
    }
    return true;
  }
  bool string(string_t& text) override {
    if (level_ != 2 || array_) fail("a string where none may stand");
    if (in_metadata()) return true;
    if (field_ != "dtype") fail("a string where an array must stand");
    const auto row = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const auto& known) { return known.first == text; });
    if (row == kDtypes.end()) {
      fail(fmt::format(
          "element type {} is not supported; allowed: F32, F16, BF16, BOOL, U8, I32, I64",
          text.substr(0, 32)));
    }
    current_.element = row->second;
    seen_dtype_ = true;
    return true;
  }
  bool start_array(std::size_t) override {
    if (level_ != 2 || array_ || in_metadata() || field_ == "dtype") {
      fail("an array where none may stand");
    }
    array_ = true;
    return true;
  }
  bool end_array() override {
    array_ = false;
    if (field_ == "shape") seen_shape_ = true;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!array_) fail("a number where none may stand");
    if (field_ == "shape") {
      if (value > INT64_MAX) fail("a size past 2^63");
      if (current_.sizes.size() == kRankLimit) fail("more than 32 dimensions");
      current_.sizes.push_back(static_cast<int64_t>(value));
    } else {
      if (offsets_.size() == 2) fail("more than two offsets");
      offsets_.push_back(value);
    }
    return true;
  }
  bool number_integer(number_integer_t) override { fail("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    fail("a number that is not whole");
  }
  bool null() override { fail("null where a value must stand"); }
  bool boolean(bool) override { fail("a boolean where none may stand"); }
  bool binary(binary_t&) override { fail("binary data in JSON"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: header is not valid JSON at byte {}: {}", file_,
                position, error.what());
  }

 private:
  bool in_metadata() const { return name_ == "__metadata__"; }

  [[noreturn]] void fail(const std::string& what) const {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: tensor '{}'{}: {}", file_, name_.substr(0, 200),
                field_.empty() ? "" : fmt::format(", field '{}'", field_.substr(0, 64)), what);
  }

  void finish_entry() {
    field_.clear();
    if (!seen_dtype_) fail("has no dtype");
    if (!seen_shape_) fail("has no shape");
    if (offsets_.size() != 2) fail("data_offsets must hold two numbers");
    current_.begin = offsets_[0];
    current_.end = offsets_[1];
    if (current_.begin > current_.end) fail("data_offsets run backwards");
    const auto bytes = bytes_of(current_.sizes, current_.element);
    if (!bytes) fail(fmt::format("shape {} passes 2^63 bytes", text_of(current_.sizes)));
    if (static_cast<uint64_t>(*bytes) != current_.end - current_.begin) {
      fail(fmt::format("{} {} needs {} bytes, data_offsets give {}", name_of(current_.element),
                       text_of(current_.sizes), *bytes, current_.end - current_.begin));
    }
    entries_.push_back(std::move(current_));
  }

  const std::string& file_;
  std::vector<SafetensorsEntry> entries_;
  std::set<std::string> names_, fields_;
  SafetensorsEntry current_;
  std::vector<uint64_t> offsets_;
  std::string name_, field_;
  int level_ = 0;
  bool array_ = false, seen_dtype_ = false, seen_shape_ = false;
};

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint64_t>(bytes[i]);
  return value;
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header, uint64_t data_bytes,
                                                       const std::string& file) {
  if (header.empty() || header.front() != '{') {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{}: not a safetensors file: the header must begin with '{{'", file);
  }
  HeaderReader reader(file);
  nlohmann::json::sax_parse(header.begin(), header.end(), &reader);
  std::vector<SafetensorsEntry> entries = reader.take();
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered) {
      throw_error(
          FFPA_JIT_INVALID_ARGUMENT,
          "{}: tensor '{}' begins at byte {} of the data, {} the tensor before it ends at {}", file,
          entry.name.substr(0, 200), entry.begin,
          entry.begin < covered ? "overlapping it:" : "leaving a hole:", covered);
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{}: the header describes {} bytes of data, the file holds {}: truncated?", file,
                covered, data_bytes);
  }
  return entries;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  if (file_.size() < kLengthBytes) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: not a safetensors file: only {} bytes long",
                file_.name(), file_.size());
  }
  const uint64_t header_bytes = little_endian(file_.read(0, kLengthBytes));
  if (header_bytes > kHeaderLimit || header_bytes > file_.size() - kLengthBytes) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{}: not a safetensors file, or truncated: it announces a header of {} bytes and "
                "is {} long",
                file_.name(), header_bytes, file_.size());
  }
  data_begin_ = kLengthBytes + header_bytes;
  const std::vector<std::byte> header = file_.read(kLengthBytes, header_bytes);
  entries_ = parse_safetensors_header(
      std::string_view(reinterpret_cast<const char*>(header.data()), header.size()),
      file_.size() - data_begin_, file_.name());
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const noexcept {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const SafetensorsEntry& entry) { return entry.name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

HostTensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  return {entry.element, entry.sizes,
          file_.read(data_begin_ + entry.begin, entry.end - entry.begin)};
}

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t end = offset + tensor.bytes.size();
    header[name] = {{"dtype", dtype_text(tensor.element)},
                    {"shape", tensor.sizes},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // data begins 8-byte aligned
  std::array<std::byte, kLengthBytes> length;
  for (size_t i = 0; i < kLengthBytes; ++i) length[i] = std::byte(text.size() >> (8 * i) & 0xff);
  write_atomically(path, [&](const Sink& sink) {
    sink(length);
    sink(std::as_bytes(std::span(text)));
    for (const auto& [name, tensor] : tensors) sink(tensor.bytes);
  });
}

}  // namespace ffpa_jit::io
