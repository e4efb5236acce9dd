#include "emulator/planted_bug.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "compile/source_places.h"
#include "device/emulator/emulated_device.h"
#include "emulator/kernel_text.h"

namespace ffpa_jit::testing {
namespace {

constexpr char kHead[] =
    "struct Params { const unsigned* in; unsigned* out; TensorMap maps[4]; };\n"
    "FFPA_DEVICE unsigned word_at(unsigned i) { return dynamic_shared() + 4 * i; }\n"
    "#line 1 \"bug.cu\"\n"
    "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n"
    "  const unsigned t = threadIdx.x, lane = t % 32;\n";

struct alignas(256) Memory {
  unsigned in[256], between[256], out[256];
};

struct Params {
  const void* in;
  void* out;
  TensorMap maps[4];
};

TensorMapSpec spec_of(const void* address, uint8_t rank, uint64_t rows) {
  TensorMapSpec spec;
  spec.address = address;
  spec.rank = rank;
  spec.sizes = {64, rows, 1, 1};
  spec.strides = {128, 128 * rows, 128 * rows};
  spec.box = {64, static_cast<uint32_t>(rows), 1, 1};
  return spec;
}

// How a report gives the place of the line with BUG.
std::string place_in(const std::string& statements) {
  const size_t mark = statements.find("BUG");
  const auto line =
      std::count(statements.begin(), statements.begin() + static_cast<ptrdiff_t>(mark), '\n') + 3;
  return "bug.cu:" + std::to_string(line) + " ";
}

}  // namespace

std::vector<std::string> reports_of(const Bug& bug) {
  std::vector<std::string> reports;
  KernelBinary binary;
  for (const NamedSchedule& each : kSchedules) {
    emulator::Options options;
    options.num_threads = 1;
    options.schedule = each.schedule;
    options.symbolizer = [](std::span<const std::byte> image, uint64_t address) {
      return source_place("", image, address);
    };
    const auto device = open_emulated_cuda_device(bug.capability, options);
    if (reports.empty())
      binary = compile_kernel(device->info().target, kHead + bug.statements + "}\n");
    const auto kernel = device->load(binary);
    Memory memory;
    std::fill(std::begin(memory.in), std::end(memory.in), 1u);
    Params params{memory.in, memory.out, {}};
    if (bug.capability >= 90) {
      params.maps[0] = device->encode_tensor_map(spec_of(memory.in, 2, 8));
      params.maps[1] = device->encode_tensor_map(spec_of(memory.out, 4, 8));
      params.maps[2] = device->encode_tensor_map(spec_of(memory.in, 2, 16));
    }
    const MemoryRange ranges[] = {{"in", memory.in, sizeof(memory.in), false},
                                  {"out", memory.out, sizeof(memory.out), true}};
    LaunchGeometry geometry;
    geometry.block.x = bug.threads;
    geometry.cluster.x = bug.cluster;
    geometry.grid.x = std::max(bug.blocks, bug.cluster);
    geometry.dynamic_shared_bytes = bug.dynamic_shared_bytes;
    std::string report;
    try {
      device->launch_checked(*kernel, geometry, std::as_bytes(std::span(&params, 1)), nullptr,
                             ranges);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), FFPA_JIT_DEVICE_ERROR);
      report = error.what();
    }
    reports.push_back(report);
  }
  return reports;
}

void expect_reported(const Bug& bug) {
  using ::testing::HasSubstr;
  try {
    const std::vector<std::string> reports = reports_of(bug);
    for (size_t i = 0; i < reports.size(); ++i) {
      SCOPED_TRACE(kSchedules[i].name);
      if (kSchedules[i].schedule.order == emulator::Order::kEarly && !bug.found_when_early)
        continue;
      EXPECT_THAT(reports[i], HasSubstr("emulator: "));
      for (const std::string& word : bug.words) EXPECT_THAT(reports[i], HasSubstr(word));
      EXPECT_THAT(reports[i], HasSubstr(place_in(bug.statements)));
    }
  } catch (const Error& error) {
    if (error.code() != FFPA_JIT_NO_COMPILER) throw;
    GTEST_SKIP() << error.what();
  }
}

void expect_clean(const Bug& bug) {
  try {
    const std::vector<std::string> reports = reports_of(bug);
    for (size_t i = 0; i < reports.size(); ++i) EXPECT_EQ(reports[i], "") << kSchedules[i].name;
  } catch (const Error& error) {
    if (error.code() != FFPA_JIT_NO_COMPILER) throw;
    GTEST_SKIP() << error.what();
  }
}

}  // namespace ffpa_jit::testing
