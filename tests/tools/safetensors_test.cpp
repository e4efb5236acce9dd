// Safetensors files written byte by byte here, after the format's description, not by our writer.
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tools/expect_error.h"
#include "tools/scratch_directory.h"

namespace ffpa_jit::io {
namespace {

using test::expect_error;

std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

class Safetensors : public testing::Test {
 protected:
  SafetensorsFile open(const std::string& bytes) {
    return SafetensorsFile(scratch_.write("t.safetensors", bytes));
  }
  void expect_refused(const std::string& header, const std::string& data,
                      std::initializer_list<std::string> words) {
    SCOPED_TRACE(header);
    expect_error(FFPA_JIT_INVALID_ARGUMENT, {"t.safetensors"},
                 [&] { open(file_of(header, data)); });
    expect_error(FFPA_JIT_INVALID_ARGUMENT, words, [&] { open(file_of(header, data)); });
  }
  test::ScratchDirectory scratch_;
};

TEST_F(Safetensors, ReadsEveryElementType) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F16","shape":[1],"data_offsets":[8,10]},"c":{"dtype":"BF16","shape":[1],"data_offsets":[10,12]},)"
      R"("d":{"dtype":"BOOL","shape":[1],"data_offsets":[12,13]},"e":{"dtype":"U8","shape":[1],"data_offsets":[13,14]},)"
      R"("f":{"dtype":"I32","shape":[1],"data_offsets":[14,18]},"g":{"dtype":"I64","shape":[],"data_offsets":[18,26]}}   )";
  std::string data("\x00\x00\x80\x3f\x00\x00\x00\x40", 8);  // 1.0f, 2.0f
  data +=
      std::string("\x00\x3c\x80\x3f\x01\x07\x05\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", 18);
  const SafetensorsFile file = open(file_of(header, data));
  ASSERT_EQ(file.entries().size(), 7u);
  const HostTensor a = file.read(*file.find("a"));
  EXPECT_EQ(a.element, Element::kFp32);
  EXPECT_EQ(a.sizes, std::vector<int64_t>{2});
  float values[2];
  std::memcpy(values, a.bytes.data(), 8);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], 2.0f);
  EXPECT_EQ(file.find("c")->element, Element::kBf16);
  EXPECT_EQ(file.find("g")->sizes, std::vector<int64_t>{});
  EXPECT_EQ(file.read(*file.find("g")).bytes, std::vector<std::byte>(8, std::byte{0xff}));
  EXPECT_EQ(file.find("zz"), nullptr);
}

TEST_F(Safetensors, WriterAndReaderAgree) {
  const NamedTensors tensors = {
      {"o", {Element::kBf16, {2, 3}, std::vector<std::byte>(12, std::byte{7})}},
      {"lse", {Element::kFp32, {0, 4}, {}}},
      {"quoted \"name\"", {Element::kInt64, {1}, std::vector<std::byte>(8, std::byte{1})}}};
  const auto path = scratch_ / "out.safetensors";
  write_safetensors(path, tensors);
  const SafetensorsFile file(path);
  ASSERT_EQ(file.entries().size(), 3u);
  for (const auto& [name, tensor] : tensors) EXPECT_EQ(file.read(*file.find(name)), tensor) << name;
}

TEST_F(Safetensors, AFailedWriteLeavesTheOldFile) {
  const auto path = scratch_.write("keep.safetensors", "old");
  EXPECT_THROW(write_atomically(path,
                                [](const Sink& sink) {
                                  sink(std::as_bytes(std::span(std::string_view("new"))));
                                  throw std::runtime_error("interrupted");
                                }),
               std::runtime_error);
  EXPECT_EQ(test::contents(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1);
}

TEST_F(Safetensors, NamesTheTensorAndFieldThatAreWrong) {
  const std::string ok = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  const std::string four(4, 'x');
  expect_refused("{\"q\":{" + ok + "},\"q\":{" + ok + "}}", four, {"'q'", "twice"});
  expect_refused(R"({"q":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", four,
                 {"dtype", "twice"});
  expect_refused(R"({"q":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", "12345678",
                 {"'q'", "F64", "allowed: F32"});
  expect_refused(R"({"q":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "1", {"F8_E4M3"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four,
                 {"needs 8 bytes", "give 4"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four,
                 {"'shape'", "negative"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", four,
                 {"not whole"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four, {"backwards"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", four,
                 {"more than two"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", four, {"two numbers"});
  expect_refused(R"({"q":{"shape":[1],"data_offsets":[0,4]}})", four, {"no dtype"});
  expect_refused(R"({"q":{"dtype":"F32","data_offsets":[0,4]}})", four, {"no shape"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", four,
                 {"no such field", "'x'"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,4]}})",
                 four, {"2^63"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", four, {"an array"});
  expect_refused(R"({"q":null})", four, {"null"});
  expect_refused(R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", four,
                 {"not valid JSON"});
  expect_refused("{\"q\xff\":{" + ok + "}}", four, {"not valid JSON"});
  expect_refused("[]", "", {"must begin with '{'"});
  expect_refused(std::string(100000, '{'), "", {"not valid JSON"});
}

TEST_F(Safetensors, RefusesOverlapsHolesAndTruncation) {
  const auto two = [](int begin) {
    return fmt::format(
        R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},"b":{{"dtype":"U8","shape":[4],"data_offsets":[{},{}]}}}})",
        begin, begin + 4);
  };
  EXPECT_EQ(open(file_of(two(4), "12345678")).entries().size(), 2u);
  expect_refused(two(2), "123456", {"'b'", "overlapping"});
  expect_refused(two(6), "1234567890", {"'b'", "hole"});
  expect_refused(two(4), "1234567", {"8 bytes", "holds 7", "truncated"});
  expect_refused(two(4), "123456789", {"holds 9"});
  const auto path = scratch_.write("t.safetensors", "1234");
  expect_error(FFPA_JIT_INVALID_ARGUMENT, {"only 4 bytes"}, [&] { SafetensorsFile{path}; });
  expect_error(FFPA_JIT_INVALID_ARGUMENT, {"announces a header of"},
               [&] { open(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)); });
  expect_error(FFPA_JIT_IO_ERROR, {"absent.safetensors", "No such file"},
               [&] { SafetensorsFile{scratch_ / "absent.safetensors"}; });
  expect_error(FFPA_JIT_IO_ERROR, {"not a regular file"},
               [&] { SafetensorsFile{scratch_.path()}; });
}

// Every truncation and 20000 random edits of a good file: an Error or a file that can be read
// whole.
TEST_F(Safetensors, HostileFilesEndInAnError) {
  const std::string good = file_of(
      R"({"q":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},"k":{"dtype":"I32","shape":[1],"data_offsets":[12,16]}})",
      "0123456789abcdef");
  const auto attempt = [&](const std::string& bytes) {
    try {
      const SafetensorsFile file = open(bytes);
      for (const SafetensorsEntry& entry : file.entries()) file.read(entry);
    } catch (const Error&) {
    }
  };
  for (size_t length = 0; length < good.size(); ++length) {
    expect_error(FFPA_JIT_INVALID_ARGUMENT, {}, [&] { open(good.substr(0, length)); });
  }
  std::mt19937 random(20261129);
  for (int round = 0; round < 20000; ++round) {
    const bool whole_file = round % 20 == 0;
    std::string bytes = whole_file ? good : good.substr(8, good.size() - 24);
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 8);
          break;
        default:
          bytes.insert(at, 1, "{}[]\",:0129-e"[random() % 13]);
          break;
      }
      if (bytes.empty()) break;
    }
    if (whole_file) {
      attempt(bytes);
      continue;
    }
    try {
      parse_safetensors_header(bytes, 16, "header");
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace ffpa_jit::io
