#include "compile/ptxas_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ffpa_jit {
namespace {

// As printed by NVRTC 13.0 for a program of two kernels and a function that was not inlined.
constexpr const char* kLog =
    R"(templates/cuda/x.j2(7): warning #177-D: variable "unused" was declared but never referenced

ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90a'
ptxas info    : Function properties for other
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 8 bytes cumulative stack size
ptxas info    : Compiling entry function 'kernel' for 'sm_90a'
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma instructions defining accumulator registers of a wgmma between start and end of the pipeline stage in the function 'kernel'
ptxas info    : Function properties for kernel
ptxas         .     136 bytes stack frame, 140 bytes spill stores, 152 bytes spill loads
ptxas info    : Used 168 registers, used 3 barriers, 136 bytes cumulative stack size, 148 bytes smem
ptxas info    : Compile time = 71.674 ms
ptxas info    : Function properties for callee
ptxas         .     64 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads
)";

TEST(PtxasReport, TakesTheEntrysNumbers) {
  const KernelResources kernel = resources_in_ptxas_text(kLog, "kernel");
  EXPECT_EQ(kernel.registers, 168);
  EXPECT_EQ(kernel.spill_bytes, 292);
  EXPECT_EQ(kernel.local_bytes, 136);
  EXPECT_EQ(kernel.static_shared_bytes, 148);
  EXPECT_EQ(kernel.code_bytes, -1);
  const KernelResources other = resources_in_ptxas_text(kLog, "other");
  EXPECT_EQ(other.registers, 32);
  EXPECT_EQ(other.spill_bytes, 8);
  EXPECT_EQ(other.static_shared_bytes, 0);
}

TEST(PtxasReport, KnowsNothingOfWhatIsNotThere) {
  EXPECT_EQ(resources_in_ptxas_text(kLog, "kern"), KernelResources{});
  EXPECT_EQ(resources_in_ptxas_text("", "kernel"), KernelResources{});
  EXPECT_FALSE(resources_in_cubin({}, "kernel", 90));
}

TEST(PtxasReport, KeepsWarningsAndLosses) {
  const std::string kept = without_ptxas_report(kLog);
  EXPECT_THAT(kept, testing::HasSubstr("warning #177-D"));
  EXPECT_THAT(kept, testing::HasSubstr("(C7510)"));
  EXPECT_THAT(kept, testing::Not(testing::HasSubstr("Used 168 registers")));
  EXPECT_THAT(kept, testing::Not(testing::HasSubstr("stack frame")));
  EXPECT_THAT(performance_losses(kept), testing::ElementsAre(testing::HasSubstr("serialized")));
  EXPECT_THAT(performance_losses("templates/x.j2(1): warning #177-D: unused"), testing::IsEmpty());
}

}  // namespace
}  // namespace ffpa_jit
