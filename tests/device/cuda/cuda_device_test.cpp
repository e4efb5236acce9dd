// The CUDA device against a fake driver: contexts, loading, launches, memory, failures. What only
// hardware shows is in tests/gpu/.
#include "device/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/dynamic_library.h"
#include "base/error.h"
#include "device/cuda/cuda_target.h"
#include "device/cuda/fake_driver.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;
using Bytes = std::span<const std::byte>;

constexpr uintptr_t kPrimary0 = 1, kPrimary1 = 2, kOwn0 = 100;
Stream stream_of(uintptr_t context) { return reinterpret_cast<Stream>(context * 1000); }
Stream capturing_stream_of(uintptr_t context) {
  return reinterpret_cast<Stream>(context * 1000 + 1);
}

class CudaDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string reason;
    library_ = DynamicLibrary::open({GetParam()}, &reason);
    ASSERT_TRUE(library_) << reason;
    fake_ = reinterpret_cast<FakeDriver* (*)()>(library_->symbol("fake_driver"))();
    *fake_ = FakeDriver{};
    fake_->devices = {FakeDevice{}, FakeDevice{"Fake Blackwell", 12, 0}};
    driver_ = cuda::Driver::open({GetParam()}, &reason);
    ASSERT_TRUE(driver_) << reason;
    device_ = open_cuda_device(0, driver_);
    binary_.bytes.resize(64);
    binary_.entry = "ffpa_test_kernel";
  }
  void TearDown() override {
    kernel_.reset();
    device_.reset();
    if (!fake_) return;
    EXPECT_EQ(fake_->live_libraries, 0);
    EXPECT_EQ(fake_->live_modules, 0);
    EXPECT_EQ(fake_->live_allocations, 0);
    EXPECT_EQ(fake_->live_events, 0);
    for (const auto& [device, count] : fake_->primary_retained) EXPECT_EQ(count, 0) << device;
  }

  bool old() const { return std::string(GetParam()).find("old") != std::string::npos; }
  void launch(const LaunchGeometry& geometry, Stream stream = nullptr) {
    if (!kernel_) kernel_ = device_->load(binary_);
    device_->launch(*kernel_, geometry, Bytes(reinterpret_cast<const std::byte*>("ARGUMENT"), 8),
                    stream);
  }
  std::string failure_of(const std::function<void()>& work, ffpa_jit_status status) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), status) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  std::optional<DynamicLibrary> library_;
  FakeDriver* fake_ = nullptr;
  std::shared_ptr<const cuda::Driver> driver_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<LoadedKernel> kernel_;
  KernelBinary binary_;
};

TEST_P(CudaDevice, InfoNamesTheKindNotTheBoard) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.text, "cuda:0");
  EXPECT_EQ(text_of(info.target), "sm_90a");
  EXPECT_EQ(info.identity, "Fake GPU, capability 9.0, 132 multiprocessors, memory 3200 MHz");
  EXPECT_EQ(info.shared_bytes_per_block, 232448);
  EXPECT_EQ(info.warp_size, 32);
  EXPECT_EQ(fake_->count("cuDevicePrimaryCtxRetain"), 0) << "asking for facts makes no context";
}

TEST_P(CudaDevice, WithoutACurrentContextThePrimaryOneIsEnteredAndLeft) {
  launch({{2, 3, 4}, {128}, {}, 0});
  ASSERT_EQ(fake_->launches.size(), 1u);
  EXPECT_EQ(fake_->launches[0].context, kPrimary0);
  EXPECT_EQ(fake_->launches[0].argument, "ARGUMENT");
  EXPECT_EQ(fake_->launches[0].grid[1], 3u);
  EXPECT_TRUE(fake_->contexts.empty());
  EXPECT_EQ(fake_->primary_retained[0], 1) << "retained once, not per call";
}

TEST_P(CudaDevice, TheCallersContextIsUsedWhenItIsOfThisDevice) {
  fake_->contexts = {kOwn0};
  launch({{1}, {32}, {}, 0}, stream_of(kOwn0));
  EXPECT_EQ(fake_->launches[0].context, kOwn0);
  EXPECT_EQ(fake_->contexts, std::vector<uintptr_t>{kOwn0});
  EXPECT_EQ(fake_->count("cuCtxPushCurrent_v2"), 0);
}

TEST_P(CudaDevice, AnotherDevicesContextIsPutAsideAndRestored) {
  fake_->contexts = {kPrimary1};
  launch({{1}, {32}, {}, 0});
  EXPECT_EQ(fake_->launches[0].context, kPrimary0);
  EXPECT_EQ(fake_->contexts, std::vector<uintptr_t>{kPrimary1});
}

TEST_P(CudaDevice, AStreamBringsItsOwnContext) {
  launch({{1}, {32}, {}, 0}, stream_of(kOwn0));
  EXPECT_EQ(fake_->launches[0].context, kOwn0);
  EXPECT_TRUE(fake_->contexts.empty());
}

TEST_P(CudaDevice, AStreamOfAnotherDeviceIsRefused) {
  kernel_ = device_->load(binary_);
  const std::string message = failure_of(
      [&] {
        launch({{1}, {32}, {}, 0}, stream_of(kPrimary1));
      },
      FFPA_JIT_INVALID_ARGUMENT);
  EXPECT_EQ(
      message,
      "the stream belongs to CUDA device 1, the call asks for device 0; pass a stream of device 0");
  EXPECT_TRUE(fake_->contexts.empty());
}

TEST_P(CudaDevice, AnEmptyGridIsNoLaunch) {
  launch({{0, 1, 1}, {32}, {}, 0});
  EXPECT_TRUE(fake_->launches.empty());
}

TEST_P(CudaDevice, SharedMemoryIsAskedForOnceAndOnlyWhenItGrows) {
  for (uint32_t bytes : {0u, 1000u, 60000u, 50000u, 60000u, 70000u}) launch({{1}, {32}, {}, bytes});
  using Attributes = std::vector<std::pair<int, int>>;
  EXPECT_EQ(fake_->attributes, (Attributes{{8, 1000}, {8, 60000}, {8, 70000}}));
  EXPECT_EQ(fake_->launches.back().shared_bytes, 70000u);
}

TEST_P(CudaDevice, AWarmLaunchMakesNoOtherCallThanItNeeds) {
  fake_->contexts = {kPrimary0};
  launch({{1}, {32}, {}, 0});
  fake_->calls.clear();
  launch({{1}, {32}, {}, 0});
  EXPECT_EQ(fake_->calls,
            (std::vector<std::string>{"cuCtxGetCurrent", "cuCtxGetDevice", "cuLaunchKernel"}));
}

TEST_P(CudaDevice, ClustersLaunchThroughTheExtendedCall) {
  const LaunchGeometry geometry{{16}, {32}, {16, 1, 1}, 0};
  if (old()) {
    const std::string message = failure_of([&] { launch(geometry); }, FFPA_JIT_DEVICE_ERROR);
    EXPECT_THAT(message,
                HasSubstr("launches in clusters, which this driver (CUDA 11.8) cannot; update it"));
    return;
  }
  launch(geometry);
  EXPECT_EQ(fake_->launches[0].cluster[0], 16u);
  EXPECT_EQ(fake_->attributes, (std::vector<std::pair<int, int>>{{14, 1}}))
      << "more than 8 blocks need leave";
}

TEST_P(CudaDevice, OldDriversLoadOneModulePerContext) {
  kernel_ = device_->load(binary_);
  launch({{1}, {32}, {}, 0});
  launch({{1}, {32}, {}, 0}, stream_of(kOwn0));
  launch({{1}, {32}, {}, 0}, stream_of(kOwn0));
  EXPECT_EQ(fake_->count("cuModuleLoadData"), old() ? 2 : 0);
  EXPECT_EQ(fake_->count("cuLibraryLoadData"), old() ? 0 : 1);
}

TEST_P(CudaDevice, CaptureIsSeen) {
  EXPECT_FALSE(device_->is_capturing(nullptr));
  EXPECT_FALSE(device_->is_capturing(stream_of(kPrimary0)));
  EXPECT_TRUE(device_->is_capturing(capturing_stream_of(kPrimary0)));
  // The default stream cannot be asked while another captures: nothing may be loaded either.
  fake_->fail_call = "cuStreamIsCapturing";
  fake_->fail_with = 906;
  EXPECT_TRUE(device_->is_capturing(nullptr));
  EXPECT_TRUE(fake_->contexts.empty());
}

TEST_P(CudaDevice, MemoryIsStreamOrderedWherePoolsExist) {
  EXPECT_EQ(device_->allocate(0, nullptr), nullptr);
  void* memory = device_->allocate(100, stream_of(kPrimary0));
  EXPECT_NE(memory, nullptr);
  device_->fill(memory, 0xff, 100, nullptr);
  char host[4] = {};
  device_->copy_to_device(memory, host, 4, nullptr);
  device_->copy_to_host(host, memory, 4, nullptr);
  device_->release(memory, stream_of(kPrimary0));
  device_->release(nullptr, nullptr);
  EXPECT_EQ(fake_->count("cuMemAllocFromPoolAsync"), 1);
  EXPECT_EQ(fake_->count("cuMemFreeAsync"), 1);
  EXPECT_EQ(fake_->count("cuStreamSynchronize"), 0) << "no hidden synchronisation";

  fake_->devices[1].pools = false;
  const auto other = open_cuda_device(1, driver_);
  other->release(other->allocate(100, nullptr), nullptr);
  EXPECT_EQ(fake_->count("cuMemAlloc_v2"), 1);
  EXPECT_EQ(fake_->count("cuMemFree_v2"), 1);
}

// The device's default pool gives its memory back whenever somebody synchronises.
TEST_P(CudaDevice, MemoryStaysInAPoolOfItsOwn) {
  EXPECT_EQ(fake_->count("cuMemPoolCreate"), 0);
  device_->load(binary_);
  EXPECT_EQ(fake_->count("cuMemPoolCreate"), 1) << "not at the first launch, which may be captured";
  EXPECT_GE(fake_->kept_bytes, 64u << 20);
  for (int i = 0; i < 2; ++i) device_->release(device_->allocate(100, nullptr), nullptr);
  EXPECT_EQ(fake_->count("cuMemPoolCreate"), 1);
  EXPECT_EQ(fake_->count("cuMemAllocFromPoolAsync"), 2);
  device_.reset();
  EXPECT_EQ(fake_->live_pools, 0);
  const auto at = [&](const char* call) {
    return std::find(fake_->calls.begin(), fake_->calls.end(), call);
  };
  EXPECT_LT(at("cuMemPoolDestroy"), at("cuDevicePrimaryCtxRelease_v2"));
}

TEST_P(CudaDevice, ADriverThatMakesNoPoolServesFromItsDefaultOne) {
  for (const char* call : {"cuMemPoolCreate", "cuMemPoolSetAttribute"}) {
    const auto device = open_cuda_device(0, driver_);
    fake_->fail_call = call;
    fake_->fail_with = 801;  // CUDA_ERROR_NOT_SUPPORTED
    void* memory = device->allocate(100, nullptr);
    EXPECT_NE(memory, nullptr);
    device->release(memory, nullptr);
    fake_->fail_call.clear();
  }
  EXPECT_EQ(fake_->count("cuMemAllocAsync"), 2);
  EXPECT_EQ(fake_->count("cuMemFreeAsync"), 2);
  EXPECT_EQ(fake_->live_pools, 0);
}

TEST_P(CudaDevice, TimeIsTakenByEvents) {
  int ran = 0;
  EXPECT_DOUBLE_EQ(device_->time_ms(nullptr, [&] { ++ran; }), 1.5);
  EXPECT_EQ(ran, 1);
  EXPECT_THROW(device_->time_ms(nullptr, [] { throw Error(FFPA_JIT_INTERNAL, "x"); }), Error);
  EXPECT_TRUE(fake_->contexts.empty());
}

TEST_P(CudaDevice, FailuresNameTheCallTheErrorAndTheRemedy) {
  kernel_ = device_->load(binary_);
  struct Row {
    const char* call;
    int code;
    ffpa_jit_status status;
    const char* words;
  };
  for (const Row& row :
       {Row{"cuLaunchKernel", 700, FFPA_JIT_DEVICE_ERROR, "sticky"},
        Row{"cuLaunchKernel", 2, FFPA_JIT_OUT_OF_MEMORY, "free device memory"},
        Row{"cuLaunchKernel", 900, FFPA_JIT_DEVICE_ERROR, "prepare the problem before the capture"},
        Row{"cuLaunchKernel", 701, FFPA_JIT_DEVICE_ERROR, "registers or shared memory"},
        Row{"cuLaunchKernel", 12345, FFPA_JIT_DEVICE_ERROR, "CUDA driver API"}}) {
    fake_->fail_call = row.call;
    fake_->fail_with = row.code;
    const std::string message = failure_of([&] { launch({{1}, {32}, {}, 0}); }, row.status);
    EXPECT_THAT(message, HasSubstr(std::string(row.call) +
                                   " failed launching ffpa_test_kernel on cuda:0: "
                                   "CUDA_ERROR_FAKE (" +
                                   std::to_string(row.code) + "): a fake failure; "));
    EXPECT_THAT(message, HasSubstr(row.words));
    EXPECT_TRUE(fake_->contexts.empty());
  }
}

TEST_P(CudaDevice, AnyFailingCallLeavesContextsAndHandlesBalanced) {
  int failures = 0;
  for (int nth = 1; nth <= 60; ++nth) {
    fake_->calls.clear();
    fake_->contexts = {kPrimary1};
    fake_->fail_at = nth;
    fake_->fail_with = 1;
    try {
      const auto device = open_cuda_device(0, driver_);
      const auto kernel = device->load(binary_);
      void* memory = device->allocate(64, nullptr);
      struct Release {
        Device& device;
        void* memory;
        FakeDriver* fake;
        ~Release() {
          fake->fail_at = 0;  // what is not tested here: a release that fails
          device.release(memory, nullptr);
        }
      } release{*device, memory, fake_};
      device->launch(*kernel, {{1}, {32}, {}, 60000},
                     Bytes(reinterpret_cast<const std::byte*>("ARGUMENT"), 8), nullptr);
      device->time_ms(nullptr, [] {});
      device->synchronize(nullptr);
    } catch (const Error& error) {
      ++failures;
      EXPECT_THAT(error.what(), HasSubstr(" failed "));
    }
    fake_->fail_at = 0;
    const std::string failed = fake_->calls.size() >= size_t(nth) ? fake_->calls[nth - 1] : "none";
    // What gives a handle or the caller's context back cannot be repaired when it fails itself.
    const bool gives_back = failed.starts_with("cuCtxPop") || failed.ends_with("Unload") ||
                            failed.starts_with("cuEventDestroy") || failed.ends_with("Release_v2");
    if (!gives_back) {
      EXPECT_EQ(fake_->contexts, std::vector<uintptr_t>{kPrimary1}) << failed;
      EXPECT_EQ(fake_->live_libraries + fake_->live_modules + fake_->live_events, 0) << failed;
      EXPECT_EQ(fake_->primary_retained[0], 0) << failed;
    }
    EXPECT_EQ(fake_->live_allocations, 0) << failed;
    fake_->live_libraries = fake_->live_modules = fake_->live_events = fake_->primary_retained[0] =
        0;
  }
  EXPECT_GE(failures, 20);
}

INSTANTIATE_TEST_SUITE_P(Drivers, CudaDevice,
                         ::testing::Values(FFPA_FAKE_DRIVER, FFPA_FAKE_DRIVER_OLD),
                         [](const auto& info) { return info.index == 0 ? "Cuda12" : "Cuda11"; });

TEST(CudaDriver, AbsenceIsExplained) {
  std::string reason;
  EXPECT_EQ(cuda::Driver::open({"/nonexistent/libcuda.so.1"}, &reason), nullptr);
  EXPECT_THAT(
      reason,
      HasSubstr("the NVIDIA driver is not installed (/nonexistent/libcuda.so.1: cannot open"));
  EXPECT_THAT(reason, HasSubstr("install it, or in a container start it with GPU access"));
}

TEST(CudaDriver, ALibraryThatIsNotTheDriverIsRefused) {
  std::string reason;
  EXPECT_EQ(cuda::Driver::open({"libm.so.6"}, &reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("libm.so.6 lacks cuInit"));
}

class CudaList : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    library_ = DynamicLibrary::open({FFPA_FAKE_DRIVER}, &reason);
    ASSERT_TRUE(library_) << reason;
    fake_ = reinterpret_cast<FakeDriver* (*)()>(library_->symbol("fake_driver"))();
    *fake_ = FakeDriver{};
    driver_ = cuda::Driver::open({FFPA_FAKE_DRIVER}, &reason);
  }
  std::optional<DynamicLibrary> library_;
  FakeDriver* fake_ = nullptr;
  std::shared_ptr<const cuda::Driver> driver_;
};

TEST_F(CudaList, NoDeviceHasAReasonAndARemedy) {
  fake_->devices.clear();
  std::string reason;
  EXPECT_TRUE(list_cuda_devices(driver_, &reason).empty());
  EXPECT_THAT(reason, HasSubstr("check nvidia-smi and CUDA_VISIBLE_DEVICES"));
  fake_->fail_call = "cuInit";
  fake_->fail_with = 100;
  EXPECT_EQ(cuda::Driver::open({FFPA_FAKE_DRIVER}, &reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("cuInit failed starting the driver"));
  EXPECT_THAT(reason, HasSubstr("no usable GPU"));
}

TEST_F(CudaList, AnOldDeviceIsLeftOut) {
  fake_->devices = {FakeDevice{"Old", 6, 1}, FakeDevice{}};
  std::string reason;
  const auto devices = list_cuda_devices(driver_, &reason);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].text, "cuda:1");
  fake_->devices.pop_back();
  EXPECT_TRUE(list_cuda_devices(driver_, &reason).empty());
  EXPECT_THAT(reason, HasSubstr("cuda:0: the device has compute capability 6.1"));
}

TEST_F(CudaList, AMissingOrdinalSaysHowManyThereAre) {
  try {
    open_cuda_device(3, driver_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_NO_DEVICE);
    EXPECT_THAT(error.what(), HasSubstr("CUDA device 3 was asked for; the driver sees 1 device "));
  }
}

TEST(CudaTarget, EveryCapabilityHasItsTarget) {
  const auto text = [](int major, int minor) { return text_of(cuda_target(major, minor)); };
  EXPECT_EQ(text(7, 5), "sm_75");
  EXPECT_EQ(text(8, 0), "sm_80");
  EXPECT_EQ(text(8, 6), "sm_86");
  EXPECT_EQ(text(8, 9), "sm_89");
  EXPECT_EQ(text(9, 0), "sm_90a");
  EXPECT_EQ(text(10, 0), "sm_100a");
  EXPECT_EQ(text(10, 3), "sm_103a");
  EXPECT_EQ(text(12, 0), "sm_120a");
  EXPECT_EQ(text(12, 1), "sm_121a");
  // A minor version of the future: machine code of an older minor, without chip-specific features.
  EXPECT_EQ(text(12, 7), "sm_121");
  EXPECT_THROW(cuda_target(7, 0), Error);
  EXPECT_THROW(cuda_target(13, 0), Error);
}

}  // namespace
}  // namespace ffpa_jit::testing
