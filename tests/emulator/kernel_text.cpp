#include "emulator/kernel_text.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "codegen/emulated_templates.h"
#include "codegen/generator.h"
#include "codegen/template_loader.h"
#include "compile/local_compilers.h"

namespace ffpa_jit::testing {
namespace {

// The test's own template among those of the library.
class WithTest final : public codegen::TemplateLoader {
 public:
  explicit WithTest(std::string text) : text_(std::move(text)) {}
  std::optional<std::string> load(std::string_view name) const override {
    return name == "test.cu.j2" ? text_ : library_.load(name);
  }
  std::vector<std::string> names() const override { return library_.names(); }

 private:
  std::string text_;
  codegen::EmbeddedTemplates library_;
};

struct Wrapper {
  const char* file;
  int capability;
};
constexpr Wrapper kWrappers[] = {
    {"arithmetic", 75},     {"barrier", 75},       {"bar_arrive", 75},  {"convert", 75},
    {"memory", 75},         {"shuffle", 75},       {"vote", 75},        {"named_barrier", 75},
    {"reciprocal", 75},     {"shared_memory", 75}, {"ldmatrix", 75},    {"ldmatrix_x2", 75},
    {"convert_x2", 80},     {"cp_async", 80},      {"cp_async_ca", 80}, {"mma", 80},
    {"mma_f16", 80},        {"mma_tf32", 80},      {"mma_int8", 80},    {"mma_fp8", 89},
    {"stmatrix", 90},       {"mbarrier", 90},      {"fence_proxy", 90}, {"elect", 90},
    {"griddepcontrol", 90}, {"setmaxnreg", 90},    {"cluster", 90},     {"tma", 90},
    {"tma_multicast", 90},  {"tma_store", 90},     {"bulk_copy", 90},   {"atomic", 75},
    {"atomic_shared", 75},  {"reduce", 75}};

// The n of the wgmma that a kernel names, in ascending order.
std::set<int> wgmma_columns(const std::string& body) {
  constexpr std::string_view kName = "wgmma_m64n";
  std::set<int> out;
  for (size_t at = body.find(kName); at != std::string::npos; at = body.find(kName, at + 1))
    out.insert(std::atoi(body.c_str() + at + kName.size()));
  return out;
}

}  // namespace

KernelBinary compile_kernel(const Target& target, const std::string& body) {
  std::string text =
      "#define FFPA_DEVICE __device__ __forceinline__\n//% include \"common/tensor_map.h\"\n";
  for (const Wrapper& wrapper : kWrappers) {
    if (target.compute_capability() < wrapper.capability) continue;
    text += std::string("//% include \"cuda/lib/") + wrapper.file + ".cuh\"\n";
  }
  const std::set<int> columns = wgmma_columns(body);
  if (!columns.empty()) text += "//% include \"cuda/lib/wgmma.cuh\"\n";
  text += body;
  std::shared_ptr<const codegen::TemplateLoader> loader = std::make_shared<WithTest>(text);
  if (target.kind == TargetKind::kEmulator)
    loader = std::make_shared<codegen::EmulatedTemplates>(loader);
  const codegen::TemplateEngine engine(loader);
  const nlohmann::ordered_json context{{"compute_capability", target.compute_capability()},
                                       {"wgmma_n", columns},
                                       {"wgmma_types", {"bf16", "f16"}}};
  const KernelSource source = codegen::generate(engine, "test.cu.j2", context, kEntry, target);
  return test::local_compilers().for_target(target).compile(source, {});
}

std::unique_ptr<LoadedKernel> load_kernel(Device& device, const std::string& body) {
  return device.load(compile_kernel(device.info().target, body));
}

}  // namespace ffpa_jit::testing
