#include "compile/nvrtc_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "compile/compile_options.h"
#include "compile/compiler.h"

namespace ffpa_jit {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kLoaderNames = {"libnvrtc.so", "libnvrtc.so.13",
                                                     "libnvrtc.so.12"};
// Where a library lies inside a chosen directory: itself, a toolkit, NVIDIA's Python wheels.
constexpr std::array<const char*, 6> kInside = {
    "", "lib64", "lib", "targets/x86_64-linux/lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

constexpr const char* kProgramName =
    "ffpa_jit.cu";  // constant: it reaches the log, and must not vary
constexpr const char* kEmptyKernel = "extern \"C\" __global__ void empty() {}\n";

void add_libraries_of(const fs::path& directory, std::vector<std::string>* out) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().filename().string().starts_with("libnvrtc.so")) {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());  // libnvrtc.so.13 before libnvrtc.so.12
  out->insert(out->end(), found.begin(), found.end());
}

std::vector<std::string> candidates(const std::string& chosen) {
  std::vector<std::string> out;
  if (!chosen.empty()) {
    std::error_code ignored;
    if (!fs::is_directory(chosen, ignored)) return {chosen};
    for (const char* inside : kInside) add_libraries_of(fs::path(chosen) / inside, &out);
    if (out.empty()) out.push_back((fs::path(chosen) / "libnvrtc.so").string());
    return out;
  }
  out.assign(kLoaderNames.begin(), kLoaderNames.end());
  std::error_code ignored;
  std::vector<std::string> toolkits;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/local", ignored)) {
    if (entry.path().filename().string().starts_with("cuda")) {
      toolkits.push_back(entry.path().string());
    }
  }
  std::sort(toolkits.begin(), toolkits.end(), std::greater<>());
  for (const std::string& toolkit : toolkits) add_libraries_of(fs::path(toolkit) / "lib64", &out);
  return out;
}

// NVRTC opens the library of its built-in functions by name, and where it lies off the loader's
// path (NVIDIA's Python wheels) does not find the one beside it: one that is loaded already serves.
void load_builtins_beside(const fs::path& nvrtc) {
  if (!nvrtc.has_parent_path()) return;  // the loader's name: it finds the other one too
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(nvrtc.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("libnvrtc-builtins.so.")) continue;
    std::string why;
    if (auto builtins = DynamicLibrary::open({entry.path().string()}, &why)) {
      builtins->keep_loaded();
    }
  }
}

// "13.0.88" of "..., release 13.0, V13.0.88" in the tool note that 13.x leaves in every cubin.
std::string version_in(std::span<const std::byte> cubin, const std::string& major_minor) {
  const std::string_view text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  const std::string mark = ", V" + major_minor + ".";
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  size_t end = at + mark.size();
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  return end == at + mark.size() ? std::string() : std::string(text.substr(at + 3, end - at - 3));
}

// "12.8.93" of libnvrtc.so.12.8.93, the file that a toolkit's libnvrtc.so.12 links to.
std::string version_in(const fs::path& library, const std::string& major_minor) {
  std::error_code failed;
  const std::string name = fs::canonical(library, failed).filename().string();
  const size_t at = name.find(".so." + major_minor + ".");
  return failed || at == std::string::npos ? std::string() : name.substr(at + 4);
}

}  // namespace

std::shared_ptr<const NvrtcLibrary> NvrtcLibrary::load(const std::string& chosen,
                                                       std::string* reason) {
  std::string why;
  std::optional<DynamicLibrary> library = DynamicLibrary::open(candidates(chosen), &why);
  if (!library) {
    *reason = "NVRTC is not found: " + why;
    return nullptr;
  }
  library->keep_loaded();
  std::shared_ptr<NvrtcLibrary> out(new NvrtcLibrary(*std::move(library)));
  if (!out->bind(reason)) return nullptr;
  load_builtins_beside(out->path());
  out->find_targets();
  if (!out->probe(reason)) return nullptr;
  return out;
}

bool NvrtcLibrary::bind(std::string* reason) {
  bool complete = true;
  const auto bind = [&](auto& function, const char* symbol, bool required = true) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(library_.symbol(symbol));
    if (function || !required) return;
    if (complete)
      *reason = fmt::format("{} has no {}; NVRTC 12.0 or newer is needed", path(), symbol);
    complete = false;
  };
  bind(api_.version, "nvrtcVersion");
  bind(api_.get_error_string, "nvrtcGetErrorString");
  bind(api_.get_num_supported_archs, "nvrtcGetNumSupportedArchs");
  bind(api_.get_supported_archs, "nvrtcGetSupportedArchs");
  bind(api_.create_program, "nvrtcCreateProgram");
  bind(api_.destroy_program, "nvrtcDestroyProgram");
  bind(api_.compile_program, "nvrtcCompileProgram");
  bind(api_.get_cubin_size, "nvrtcGetCUBINSize");
  bind(api_.get_cubin, "nvrtcGetCUBIN");
  bind(api_.get_program_log_size, "nvrtcGetProgramLogSize");
  bind(api_.get_program_log, "nvrtcGetProgramLog");
  bind(api_.set_flow_callback, "nvrtcSetFlowCallback", false);
  if (!complete) return false;
  api_.version(&major_, &minor_);
  if (major_ < 12) {
    *reason = fmt::format("{} is NVRTC {}.{}; 12.0 or newer is needed", path(), major_, minor_);
    return false;
  }
  return true;
}

// NVRTC lists plain numbers. Which of them have an "a" (this chip) or "f" (its family) form follows
// from the PTX ISA: "a" from compute capability 9.0 on, "f" from 10.0 on and since 12.9.
void NvrtcLibrary::find_targets() {
  int count = 0;
  api_.get_num_supported_archs(&count);
  std::vector<int> listed(std::max(count, 0));
  if (!listed.empty()) api_.get_supported_archs(listed.data());
  const bool family_forms = major_ > 12 || (major_ == 12 && minor_ >= 9);
  for (std::string_view arch : architectures(TargetKind::kCuda)) {
    std::string_view digits = arch.substr(3);
    int capability = 0;
    const char* end = std::from_chars(digits.data(), digits.data() + digits.size(), capability).ptr;
    if (std::find(listed.begin(), listed.end(), capability) == listed.end()) continue;
    const char form = end == digits.data() + digits.size() ? '\0' : *end;
    if (form == 'f' && !family_forms) continue;
    targets_.emplace_back(arch);
  }
}

bool NvrtcLibrary::probe(std::string* reason) {
  if (targets_.empty()) {
    *reason =
        fmt::format("{} (NVRTC {}.{}) lists no architecture from sm_75 on", path(), major_, minor_);
    return false;
  }
  const Target first{TargetKind::kCuda, targets_.front()};
  NvrtcOutput output = compile(kEmptyKernel, options(first), nullptr, nullptr);
  if (output.result == kNvrtcInvalidOption) {
    for (const NvrtcOption& option : nvrtc_options()) {
      const std::vector<std::string> alone{"-arch=" + first.arch, option.text};
      if (!option.required &&
          compile(kEmptyKernel, alone, nullptr, nullptr).result == kNvrtcInvalidOption) {
        unknown_options_.emplace_back(option.text);
      }
    }
    output = compile(kEmptyKernel, options(first), nullptr, nullptr);
  }
  if (output.result != kNvrtcSuccess) {
    *reason = fmt::format("{} (NVRTC {}.{}) cannot compile an empty kernel for {}: {}: {}", path(),
                          major_, minor_, targets_.front(), error_text(output.result), output.log);
    return false;
  }
  const std::string major_minor = fmt::format("{}.{}", major_, minor_);
  std::string exact = version_in(output.cubin, major_minor);
  if (exact.empty()) exact = version_in(fs::path(path()), major_minor);
  identity_ = "nvrtc " + (exact.empty() ? major_minor : exact);
  return true;
}

NvrtcOutput NvrtcLibrary::compile(const std::string& source,
                                  const std::vector<std::string>& options, NvrtcFlowCallback flow,
                                  void* payload) const {
  NvrtcOutput out;
  NvrtcProgram program = nullptr;
  out.result = api_.create_program(&program, source.c_str(), kProgramName, 0, nullptr, nullptr);
  if (out.result != kNvrtcSuccess) return out;
  const auto destroy = [this](NvrtcProgram owned) { api_.destroy_program(&owned); };
  const std::unique_ptr<_nvrtcProgram, decltype(destroy)> owner(program, destroy);

  if (flow && api_.set_flow_callback) api_.set_flow_callback(program, flow, payload);
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  out.result = api_.compile_program(program, static_cast<int>(texts.size()), texts.data());

  size_t bytes = 0;
  if (api_.get_program_log_size(program, &bytes) == kNvrtcSuccess && bytes > 1) {
    out.log.resize(bytes);
    api_.get_program_log(program, out.log.data());
    out.log.resize(out.log.find_last_not_of(std::string_view("\0\n", 2)) + 1);
  }
  if (out.result != kNvrtcSuccess) return out;
  out.result = api_.get_cubin_size(program, &bytes);
  if (out.result != kNvrtcSuccess) return out;
  out.cubin.resize(bytes);
  out.result = api_.get_cubin(program, reinterpret_cast<char*>(out.cubin.data()));
  return out;
}

std::vector<std::string> NvrtcLibrary::options(const Target& target) const {
  std::vector<std::string> out = compile_options(target);
  std::erase_if(out, [this](const std::string& option) {
    return std::find(unknown_options_.begin(), unknown_options_.end(), option) !=
           unknown_options_.end();
  });
  return out;
}

std::string NvrtcLibrary::error_text(int result) const { return api_.get_error_string(result); }

}  // namespace ffpa_jit
