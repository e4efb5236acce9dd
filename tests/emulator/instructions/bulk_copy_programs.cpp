// cp.async.bulk, of boxes of tensors and of runs of bytes. Expected values element by element: PTX
// ISA, "Tensors", "Swizzling modes", "Out-of-bound access"; CUDA C++ Programming Guide, "Tensor
// memory swizzle".
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/float16.h"
#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

constexpr uint32_t kFill = 0x5a5a5a5a;

struct Box {
  const char* name;
  TensorElement element;
  TensorSwizzle swizzle;
  std::vector<uint64_t> sizes, strides;  // elements, bytes
  std::vector<uint32_t> box;
  std::vector<int> at;
  uint32_t shift = 0;  // of the box in shared memory from a multiple of 1024
};

uint32_t bytes_of(TensorElement element) { return element == TensorElement::kFp32 ? 4 : 2; }

uint32_t span_of(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::k128Bytes  ? 128
         : swizzle == TensorSwizzle::k64Bytes ? 64
         : swizzle == TensorSwizzle::k32Bytes ? 32
                                              : 0;
}

TensorMapSpec spec_of(const Box& box) {
  TensorMapSpec spec;
  spec.rank = static_cast<uint8_t>(box.sizes.size());
  spec.element = box.element;
  spec.swizzle = box.swizzle;
  std::copy(box.sizes.begin(), box.sizes.end(), spec.sizes.begin());
  std::copy(box.strides.begin(), box.strides.end(), spec.strides.begin());
  std::copy(box.box.begin(), box.box.end(), spec.box.begin());
  return spec;
}

uint32_t tensor_bytes(const Box& box) {
  uint64_t last = box.sizes[0] * bytes_of(box.element);
  for (size_t d = 1; d < box.sizes.size(); ++d) last += (box.sizes[d] - 1) * box.strides[d - 1];
  return static_cast<uint32_t>((last + 3) / 4 * 4);
}

uint32_t box_elements(const Box& box) {
  return std::accumulate(box.box.begin(), box.box.end(), 1u, std::multiplies<>());
}

uint32_t pitch_of(const Box& box) {
  return std::max(box.box[0] * bytes_of(box.element), span_of(box.swizzle));
}
uint32_t shared_bytes(const Box& box) { return box_elements(box) / box.box[0] * pitch_of(box); }

// Calls visit(byte of the element in the tensor, or -1 where it is outside; its byte in the box's
// shared memory).
void for_each_element(const Box& box, const std::function<void(int64_t, uint32_t)>& visit) {
  for (uint32_t i = 0; i < box_elements(box); ++i) {
    int64_t global = 0;
    bool inside = true;
    uint32_t rest = i;
    for (size_t d = 0; d < box.box.size(); ++d) {
      const int64_t coordinate = box.at[d] + static_cast<int64_t>(rest % box.box[d]);
      inside &= coordinate >= 0 && coordinate < static_cast<int64_t>(box.sizes[d]);
      global +=
          coordinate * (d == 0 ? bytes_of(box.element) : static_cast<int64_t>(box.strides[d - 1]));
      rest /= box.box[d];
    }
    const uint32_t in_row = i % box.box[0] * bytes_of(box.element);
    const uint32_t linear = box.shift + i / box.box[0] * pitch_of(box) + in_row;
    // Lines of 128 bytes in 8 chunks; within a span, chunks change places by the number of the
    // line.
    const uint32_t line = linear / 128, chunks = span_of(box.swizzle) / 16;
    uint32_t chunk = linear / 16 % 8;
    if (chunks) chunk = chunk / chunks * chunks + ((chunk % chunks) ^ (line % chunks));
    visit(inside ? global : -1, line * 128 + chunk * 16 + linear % 16 - box.shift);
  }
}

std::string coordinates(const Box& box) {
  std::string text;
  for (int at : box.at) text += ", " + std::to_string(at);
  return text;
}
std::string rank_text(const Box& box) { return std::to_string(box.sizes.size()) + "d"; }

// Distinct finite values of every format.
Words values(uint32_t bytes) {
  Words words(bytes / 4);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = 0x3c013c00u + 0x00020002u * i;
  return words;
}

Program load(const Box& box) {
  Program program;
  program.name = std::string("tma_load_") + rank_text(box) + "_" + box.name;
  program.capability = 90;
  program.input = values(tensor_bytes(box));
  program.maps = {{spec_of(box), false, 0}};
  const uint32_t bytes = shared_bytes(box);
  program.dynamic_shared_bytes = 1024 + box.shift + bytes;
  program.expected.assign(bytes / 4, kFill);
  auto* to = reinterpret_cast<unsigned char*>(program.expected.data());
  const auto* from = reinterpret_cast<const unsigned char*>(program.input.data());
  for_each_element(box, [&](int64_t global, uint32_t shared) {
    if (global < 0) {
      std::memset(to + shared, 0, bytes_of(box.element));
    } else {
      std::memcpy(to + shared, from + global, bytes_of(box.element));
    }
  });
  const std::string words = std::to_string(bytes / 4);
  program.kernel =
      std::string(kKernelLine) +
      "  const unsigned t = threadIdx.x, barrier = dynamic_shared(), data = barrier + 1024 + " +
      std::to_string(box.shift) + ";\n  for (unsigned i = t; i < " + words +
      "; i += 32) st_shared_u32(data + 4 * i, 0x5a5a5a5a);\n"
      "  fence_proxy_async_shared();\n"
      "  if (t == 0) {\n    mbarrier_init(barrier, 1);\n    fence_mbarrier_init();\n  }\n"
      "  bar_sync();\n  if (t == 0) {\n"
      "    prefetch_tensor_map(params.maps[0]);\n"
      "    mbarrier_arrive_expect_tx(barrier, " +
      std::to_string(box_elements(box) * bytes_of(box.element)) + ");\n    tma_load_" +
      rank_text(box) + "(data, params.maps[0], barrier" + coordinates(box) +
      ");\n  }\n  mbarrier_wait(barrier, 0);\n  for (unsigned i = t; i < " + words +
      "; i += 32) params.out[i] = ld_shared_u32(data + 4 * i);\n}\n";
  return program;
}

float value_of(TensorElement element, const unsigned char* at) {
  if (element == TensorElement::kFp32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return element == TensorElement::kFp16 ? float_from_fp16(bits) : float_from_bf16(bits);
}
void set_value(TensorElement element, unsigned char* at, float value) {
  if (element == TensorElement::kFp32) {
    std::memcpy(at, &value, sizeof(value));
    return;
  }
  const uint16_t bits =
      element == TensorElement::kFp16 ? fp16_from_float(value) : bf16_from_float(value);
  std::memcpy(at, &bits, sizeof(bits));
}

// Stores a box; `adds`: then adds it to what it has stored.
Program store(const Box& box, bool adds) {
  Program program;
  program.name = adds ? "tma_reduce_add_" : "tma_store_";
  program.name += rank_text(box) + "_" + box.name;
  program.capability = 90;
  program.maps = {{spec_of(box), true, 0}};
  program.input = values(shared_bytes(box));
  program.dynamic_shared_bytes = shared_bytes(box);
  program.expected.assign(tensor_bytes(box) / 4, 0xdeadbeefu);
  auto* to = reinterpret_cast<unsigned char*>(program.expected.data());
  const auto* from = reinterpret_cast<const unsigned char*>(program.input.data());
  for_each_element(box, [&](int64_t global, uint32_t shared) {
    if (global < 0) return;
    if (adds) {
      set_value(box.element, to + global, 2 * value_of(box.element, from + shared));
    } else {
      std::memcpy(to + global, from + shared, bytes_of(box.element));
    }
  });
  const std::string words = std::to_string(program.input.size());
  std::string rest = "_";
  rest += rank_text(box) + "(params.maps[0], data" + coordinates(box) + ");\n";
  program.kernel = std::string(kKernelLine) +
                   "  const unsigned t = threadIdx.x, data = dynamic_shared();\n"
                   "  for (unsigned i = t; i < " +
                   words +
                   "; i += 32) st_shared_u32(data + 4 * i, params.in[i]);\n"
                   "  fence_proxy_async_shared();\n  bar_sync();\n  if (t == 0) {\n    tma_store" +
                   rest + "    tma_store_commit_group();\n    tma_store_wait_group<0>();\n";
  if (adds) {
    program.kernel += "    tma_reduce_add" + rest;
    program.kernel += "    tma_store_commit_group();\n    tma_store_wait_group_read<0>();\n";
  }
  program.kernel += "  }\n}\n";
  return program;
}

Program plain_store() {
  Program program;
  program.name = "bulk_store";
  program.capability = 90;
  program.input = values(512);
  program.expected.assign(160, 0xdeadbeefu);
  std::copy_n(program.input.begin(), 128, program.expected.begin() + 16);
  program.dynamic_shared_bytes = 512;
  program.kernel = std::string(kKernelLine) +
                   R"(  const unsigned t = threadIdx.x, data = dynamic_shared();
  for (unsigned i = t; i < 128; i += 32) st_shared_u32(data + 4 * i, params.in[i]);
  fence_proxy_async_shared();
  __syncwarp();
  if (t == 0) {
    bulk_store(params.out + 16, data, 256);
    tma_store_commit_group();
    bulk_store(params.out + 80, data + 256, 256);
    tma_store_commit_group();
    tma_store_wait_group_read<1>();
    tma_store_wait_group<0>();
  }
}
)";
  return program;
}

constexpr TensorElement kF32 = TensorElement::kFp32, kF16 = TensorElement::kFp16,
                        kBf16 = TensorElement::kBf16;
constexpr TensorSwizzle kNone = TensorSwizzle::kNone, k32 = TensorSwizzle::k32Bytes,
                        k64 = TensorSwizzle::k64Bytes, k128 = TensorSwizzle::k128Bytes;

}  // namespace

std::vector<Program> bulk_copy_programs() {
  const std::vector<Box> loads = {
      {"plain", kF32, kNone, {100}, {}, {32}, {80}},
      {"plain", kBf16, kNone, {100, 12}, {208}, {24, 8}, {8, 2}},
      {"outside", kBf16, kNone, {24, 8}, {48}, {24, 8}, {-32, 3}},
      {"swizzle_32", kF16, k32, {40, 20}, {80}, {16, 16}, {-8, 9}},
      {"swizzle_64", kBf16, k64, {40, 20}, {96}, {32, 16}, {16, -5}},
      {"swizzle_128", kBf16, k128, {72, 20}, {144}, {64, 16}, {16, -2}},
      {"swizzle_128_fp32", kF32, k128, {40, 9}, {160}, {32, 8}, {4, 4}},
      {"swizzle_32_shifted", kBf16, k32, {16, 16}, {32}, {16, 16}, {0, 0}, 128},
      {"swizzle_64_shifted", kBf16, k64, {32, 16}, {64}, {32, 16}, {0, 0}, 128},
      {"swizzle_128_shifted", kBf16, k128, {64, 16}, {128}, {64, 16}, {0, 0}, 384},
      {"swizzle_64_narrow", kBf16, k64, {16, 16}, {32}, {16, 16}, {0, 0}},
      {"swizzle_128_narrow", kBf16, k128, {40, 16}, {80}, {40, 16}, {0, 0}},
      {"swizzle_128", kF16, k128, {64, 10, 3}, {128, 1280}, {64, 4, 2}, {0, 8, 2}},
      {"heads", kBf16, k128, {64, 13, 2, 3}, {256, 128, 3328}, {64, 8, 2, 1}, {0, 8, 0, 1}},
      {"swizzle_64",
       kF32,
       k64,
       {20, 3, 3, 3, 3},
       {80, 240, 720, 2160},
       {16, 2, 2, 2, 2},
       {8, -1, 2, 1, 2}},
  };
  const Box heads{"heads",          kBf16,         k128,        {64, 13, 2, 3},
                  {256, 128, 3328}, {64, 8, 2, 1}, {0, 8, 0, 1}};
  const auto five = [](const char* name, std::vector<int> at) {
    return Box{name,         kF32, kNone, {12, 3, 3, 2, 2}, {48, 144, 432, 864}, {8, 2, 2, 2, 1},
               std::move(at)};
  };
  std::vector<Program> out;
  for (const Box& box : loads) out.push_back(load(box));
  out.push_back(store(heads, false));
  out.push_back(store(five("plain", {4, 0, 1, 0, 1}), false));
  out.push_back(store(five("past_the_end", {8, 2, 2, 1, 1}), false));
  out.push_back(store(heads, true));
  out.push_back(store(
      {"fp16", kF16, kNone, {32, 4, 1, 1}, {64, 256, 256}, {32, 4, 1, 1}, {0, 1, 0, 0}}, true));
  out.push_back(
      store({"fp32", kF32, k64, {16, 6, 2, 1}, {64, 384, 768}, {16, 4, 2, 1}, {0, 3, 0, 0}}, true));
  out.push_back(plain_store());
  return out;
}

}  // namespace ffpa_jit::testing
