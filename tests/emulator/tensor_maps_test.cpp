// encode_tensor_map of emulated devices: what a driver refuses is refused, in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "device/emulator/emulated_device.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

alignas(128) unsigned short memory[64 * 64];

TensorMapSpec legal() {
  TensorMapSpec spec;
  spec.address = memory;
  spec.rank = 2;
  spec.sizes = {64, 64};
  spec.strides = {128};
  spec.box = {64, 8};
  return spec;
}

struct Wrong {
  const char* name;
  void (*change)(TensorMapSpec&);
  const char* words;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

class TensorMaps : public ::testing::TestWithParam<Wrong> {};

TEST_P(TensorMaps, AreRefused) {
  TensorMapSpec spec = legal();
  GetParam().change(spec);
  try {
    open_emulated_cuda_device(90, {})->encode_tensor_map(spec);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), HasSubstr(GetParam().words));
  }
}

const Wrong kWrong[] = {
    {"Rank", [](TensorMapSpec& spec) { spec.rank = 6; }, "of rank 6; allowed: 1 to 5"},
    {"Address", [](TensorMapSpec& spec) { spec.address = memory + 4; },
     "allowed: multiples of 16 bytes"},
    {"NoSize", [](TensorMapSpec& spec) { spec.sizes[1] = 0; },
     "of size 0 in dimension 1; allowed: 1 to 2^32"},
    {"Size", [](TensorMapSpec& spec) { spec.sizes[0] = (uint64_t{1} << 32) + 1; },
     "allowed: 1 to 2^32"},
    {"Stride", [](TensorMapSpec& spec) { spec.strides[0] = 136; },
     "a stride of 136 bytes in dimension 1; allowed: multiples of 16 below 2^40"},
    {"LongStride", [](TensorMapSpec& spec) { spec.strides[0] = uint64_t{1} << 40; }, "below 2^40"},
    {"Box", [](TensorMapSpec& spec) { spec.box[1] = 257; },
     "a box of 257 in dimension 1; allowed: 1 to 256"},
    {"NoBox", [](TensorMapSpec& spec) { spec.box[0] = 0; }, "a box of 0 in dimension 0"},
    {"RowBytes", [](TensorMapSpec& spec) { spec.box[0] = 12; },
     "rows of 24 bytes in its box; allowed: multiples of 16"},
    {"RowOverTheSwizzle", [](TensorMapSpec& spec) { spec.swizzle = TensorSwizzle::k64Bytes; },
     "rows of 128 bytes in its box under the swizzle of 64 bytes; allowed: up to 64"},
};

INSTANTIATE_TEST_SUITE_P(All, TensorMaps, ::testing::ValuesIn(kWrong),
                         [](const auto& info) { return info.param.name; });

TEST(TensorMap, OfLegalTensorsIsEncoded) {
  const auto device = open_emulated_cuda_device(90, {});
  EXPECT_NO_THROW(device->encode_tensor_map(legal()));
  TensorMapSpec other = legal();
  other.box[1] = 4;
  const TensorMap one = device->encode_tensor_map(legal()), two = device->encode_tensor_map(other);
  EXPECT_NE(std::memcmp(&one, &two, sizeof(one)), 0);
}

TEST(TensorMap, NeedsHopper) {
  try {
    open_emulated_cuda_device(80, {})->encode_tensor_map(legal());
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_UNSUPPORTED);
    EXPECT_THAT(error.what(), HasSubstr("emu:sm_80 has no tensor memory accelerator"));
  }
}

}  // namespace
}  // namespace ffpa_jit::testing
