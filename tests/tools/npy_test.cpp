// .npy files written byte by byte here, after NumPy's description of the format.
#include "io/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tools/expect_error.h"
#include "tools/scratch_directory.h"

namespace ffpa_jit::io {
namespace {

using test::expect_error;

std::string file_of(int version, const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  const uint32_t length = static_cast<uint32_t>(header.size());
  bytes.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  return bytes + header + data;
}

class Npy : public testing::Test {
 protected:
  HostTensor read(const std::string& bytes) { return read_npy(scratch_.write("a.npy", bytes)); }
  void expect_refused(const std::string& header, std::initializer_list<std::string> words) {
    SCOPED_TRACE(header);
    expect_error(FFPA_JIT_INVALID_ARGUMENT, {"a.npy"}, [&] { read(file_of(1, header, "1234")); });
    expect_error(FFPA_JIT_INVALID_ARGUMENT, words, [&] { read(file_of(1, header, "1234")); });
  }
  test::ScratchDirectory scratch_;
};

TEST_F(Npy, ReadsVersionsOneToThree) {
  for (const int version : {1, 2, 3}) {
    const HostTensor tensor = read(
        file_of(version, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }          \n",
                std::string("\1\0\0\0\2\0\0\0", 8)));
    EXPECT_EQ(tensor.element, Element::kInt32);
    EXPECT_EQ(tensor.sizes, std::vector<int64_t>{2});
    EXPECT_EQ(tensor.bytes[4], std::byte{2});
  }
  expect_error(FFPA_JIT_INVALID_ARGUMENT, {"version 4"}, [&] { read(file_of(4, "{}", "")); });
}

TEST_F(Npy, ReadsEveryElementType) {
  const std::pair<const char*, Element> kinds[] = {
      {"<f4", Element::kFp32},  {"<f2", Element::kFp16}, {"|V2", Element::kBf16},
      {"<V2", Element::kBf16},  {"|b1", Element::kBool}, {"|u1", Element::kUint8},
      {"<i4", Element::kInt32}, {"<i8", Element::kInt64}};
  for (const auto& [descr, element] : kinds) {
    const std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (3, 1)}}", descr);
    const HostTensor tensor = read(file_of(1, header, std::string(3 * bytes_of(element), 'x')));
    EXPECT_EQ(tensor.element, element) << descr;
    EXPECT_EQ(tensor.sizes, (std::vector<int64_t>{3, 1}));
  }
}

TEST_F(Npy, FortranOrderComesBackInCOrder) {
  // [[0, 1, 2], [3, 4, 5]] stored by columns.
  const HostTensor tensor =
      read(file_of(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                   std::string("\0\3\1\4\2\5", 6)));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(std::to_integer<int>(tensor.bytes[i]), i);
}

TEST_F(Npy, WriterAndReaderAgree) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{}, {5}, {2, 3}, {0, 7}, {1, 1, 1, 4}}) {
    for (const Element element :
         {Element::kFp32, Element::kBf16, Element::kBool, Element::kInt64}) {
      HostTensor tensor{element, sizes, {}};
      tensor.bytes.assign(*bytes_of(sizes, element), std::byte{3});
      const auto path = scratch_ / "out.npy";
      write_npy(path, tensor);
      EXPECT_EQ(read_npy(path), tensor) << text_of(sizes);
      const std::string bytes = test::contents(path);
      EXPECT_EQ((bytes.size() - tensor.bytes.size()) % 64, 0u)
          << "NumPy aligns the data to 64 bytes";
    }
  }
}

TEST_F(Npy, SaysWhatIsWrong) {
  expect_refused("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", {"big endian"});
  expect_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
                 {"'<f8'", "allowed: f4, f2"});
  expect_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                 {"a string expected"});
  expect_refused("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", {"True or False"});
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", {"a size expected"});
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
                 {"2^63"});
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
                 {"2^63"});
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                 {"needs 8 bytes", "holds 4"});
  expect_refused("{'descr': '<f4', 'fortran_order': False, }", {"required"});
  expect_refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
                 {"twice"});
  expect_refused("{'extra': '<f4'}", {"no such key: 'extra'"});
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", {"text after"});
  expect_refused("{'descr': '<f4", {"without an end"});
  expect_error(FFPA_JIT_INVALID_ARGUMENT, {"not an .npy file"},
               [&] { read("PK\3\4 this is a zip"); });
  expect_error(FFPA_JIT_IO_ERROR, {"absent.npy"}, [&] { read_npy(scratch_ / "absent.npy"); });
}

TEST_F(Npy, HostileFilesEndInAnError) {
  const std::string good =
      file_of(2, "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }   \n", "0123456789ab");
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(read(good.substr(0, length)), Error) << length;
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    const bool whole_file = round % 20 == 0;
    std::string bytes = whole_file ? good : good.substr(12, good.size() - 24);
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 8);
          break;
        default:
          bytes.insert(at, 1, "{}()'\",:0129-L"[random() % 14]);
          break;
      }
    }
    try {
      whole_file ? void(read(bytes)) : void(parse_npy_header(bytes, "header"));
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace ffpa_jit::io
