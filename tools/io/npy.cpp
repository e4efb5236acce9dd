// The .npy format: magic, version, header length, a Python dictionary literal, data.
#include "io/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "io/file.h"

namespace ffpa_jit::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kHeaderLimit = 1 << 16;
constexpr size_t kRankLimit = 32;

// '<' little endian, '|' not applicable (one byte), '=' native, which here is little endian too.
constexpr std::array<std::pair<std::string_view, Element>, 8> kDescriptors = {{
    {"f4", Element::kFp32},
    {"f2", Element::kFp16},
    {"V2", Element::kBf16},
    {"b1", Element::kBool},
    {"u1", Element::kUint8},
    {"i4", Element::kInt32},
    {"i8", Element::kInt64},
    {"bfloat16", Element::kBf16},
}};

// Reads the few Python literals a header may hold: 'text', True, False, (1, 2,).
class Literals {
 public:
  Literals(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: .npy header at byte {}: {}", file_, at_, what);
  }
  bool accept(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}' expected", wanted));
  }
  std::string_view string() {
    skip_blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a string expected");
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string without an end");
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::strlen(word);
        return value;
      }
    }
    fail("True or False expected");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      if (values.size() == kRankLimit) fail("more than 32 dimensions");
      values.push_back(integer());
      accept('L');  // Python 2 wrote long integers so
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  void expect_end() {
    skip_blanks();
    if (at_ != text_.size()) fail("text after the dictionary");
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  int64_t integer() {
    skip_blanks();
    int64_t value = 0;
    const size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
        fail("a size past 2^63");
      }
    }
    if (at_ == begin) fail("a size expected");
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
};

Element element_of(std::string_view descriptor, const Literals& literals) {
  std::string_view kind = descriptor;
  if (kind.starts_with('>')) {
    literals.fail(fmt::format("descr '{}' is big endian; only little endian is read", descriptor));
  }
  if (!kind.empty() && std::string_view("<|=").find(kind.front()) != std::string_view::npos) {
    kind.remove_prefix(1);
  }
  for (const auto& [name, element] : kDescriptors) {
    if (name == kind) return element;
  }
  literals.fail(
      fmt::format("descr '{}' is not supported; allowed: f4, f2, V2 (bfloat16), b1, u1, i4, i8",
                  descriptor.substr(0, 32)));
}

// Fortran order (first index fastest) to C order (last index fastest).
std::vector<std::byte> to_c_order(const std::vector<std::byte>& data,
                                  const std::vector<int64_t>& sizes, size_t element_bytes) {
  std::vector<std::byte> out(data.size());
  std::vector<int64_t> index(sizes.size(), 0);
  const int64_t count = static_cast<int64_t>(data.size() / element_bytes);
  for (int64_t c = 0; c < count; ++c) {
    int64_t f = 0;
    for (size_t d = sizes.size(); d-- > 0;) f = f * sizes[d] + index[d];
    std::memcpy(&out[static_cast<size_t>(c) * element_bytes],
                &data[static_cast<size_t>(f) * element_bytes], element_bytes);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view header, const std::string& file) {
  Literals literals(header, file);
  NpyHeader out;
  bool descr = false, order = false, shape = false;
  literals.expect('{');
  while (!literals.accept('}')) {
    const std::string_view key = literals.string();
    literals.expect(':');
    bool* seen = key == "descr"           ? &descr
                 : key == "fortran_order" ? &order
                 : key == "shape"         ? &shape
                                          : nullptr;
    if (!seen) literals.fail(fmt::format("no such key: '{}'", key.substr(0, 64)));
    if (std::exchange(*seen, true)) literals.fail(fmt::format("key '{}' appears twice", key));
    if (seen == &descr) out.element = element_of(literals.string(), literals);
    if (seen == &order) out.fortran_order = literals.boolean();
    if (seen == &shape) out.sizes = literals.tuple();
    if (!literals.accept(',')) {
      literals.expect('}');
      break;
    }
  }
  literals.expect_end();
  if (!descr || !order || !shape) literals.fail("descr, fortran_order and shape are all required");
  return out;
}

HostTensor read_npy(const std::filesystem::path& path) {
  const InputFile file(path);
  const uint64_t magic_bytes = kMagic.size() + 2;
  std::vector<std::byte> start;
  if (file.size() >= magic_bytes) start = file.read(0, magic_bytes);
  if (start.empty() || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{}: not an .npy file: it does not begin with \\x93NUMPY", file.name());
  }
  const int version = std::to_integer<int>(start[kMagic.size()]);
  if (version < 1 || version > 3) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: .npy version {}; versions 1 to 3 are read",
                file.name(), version);
  }
  const uint64_t length_bytes = version == 1 ? 2 : 4;
  const std::vector<std::byte> length = file.read(magic_bytes, length_bytes);
  uint64_t header_bytes = 0;
  for (size_t i = length.size(); i-- > 0;)
    header_bytes = header_bytes << 8 | std::to_integer<uint64_t>(length[i]);
  if (header_bytes > kHeaderLimit) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: .npy header of {} bytes; at most {} are read",
                file.name(), header_bytes, kHeaderLimit);
  }
  const std::vector<std::byte> text = file.read(magic_bytes + length_bytes, header_bytes);
  NpyHeader header =
      parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()}, file.name());
  const uint64_t data_begin = magic_bytes + length_bytes + header_bytes;
  const auto bytes = bytes_of(header.sizes, header.element);
  if (!bytes || static_cast<uint64_t>(*bytes) != file.size() - data_begin) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: {} {} needs {} bytes of data, the file holds {}",
                file.name(), name_of(header.element), text_of(header.sizes),
                bytes ? std::to_string(*bytes) : std::string("more than 2^63"),
                file.size() - data_begin);
  }
  HostTensor tensor{header.element, header.sizes,
                    file.read(data_begin, static_cast<uint64_t>(*bytes))};
  if (header.fortran_order && header.sizes.size() > 1 && *bytes > 0) {
    tensor.bytes = to_c_order(tensor.bytes, tensor.sizes, bytes_of(tensor.element));
  }
  return tensor;
}

void write_npy(const std::filesystem::path& path, const HostTensor& tensor) {
  const auto row = std::find_if(kDescriptors.begin(), kDescriptors.end(),
                                [&](const auto& known) { return known.second == tensor.element; });
  const char order = bytes_of(tensor.element) == 1 ? '|' : '<';
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order,
                  row->first, fmt::join(tensor.sizes, ", "), tensor.sizes.size() == 1 ? "," : "");
  const size_t prefix = kMagic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ')
      .push_back('\n');  // data begins 64-byte aligned
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  write_atomically(path, [&](const Sink& sink) {
    sink(std::as_bytes(std::span(start)));
    sink(std::as_bytes(std::span(header)));
    sink(tensor.bytes);
  });
}

}  // namespace ffpa_jit::io
