// The plugin's exported function and its compile: front end and back end, check of imports, link.
// Here exceptions and crashes become a status.
#include <clang/Basic/Version.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "compile/clang/compile_object.h"
#include "compile/clang/crash_guard.h"
#include "compile/clang/describe_address.h"
#include "compile/clang/link_image.h"
#include "compile/clang/plugin_api.h"

namespace ffpa_jit::clang_plugin {
namespace {

struct Result : ffpa_jit_clang_result {
  llvm::SmallVector<char, 0> bytes;
  std::string text;
};

// What a piece under the guard works on. On the heap and shared: after a crash nothing on that
// stack is unwound, and what it half wrote must not be destroyed.
struct Work {
  llvm::SmallVector<char, 0> object;
  llvm::SmallVector<char, 0> image;
  std::string log;
  ffpa_jit_clang_status status = FFPA_JIT_CLANG_CRASHED;
};

void compile_and_link(const ffpa_jit_clang_request& request, Work* work) {
  work->status = compile_object(request, &work->object, &work->log);
  if (work->status != FFPA_JIT_CLANG_OK) return;
  if (!imports_allowed(request, work->object, &work->log)) {
    work->status = FFPA_JIT_CLANG_REFUSED;
    return;
  }
  if (request.link_argument_count == 0) {
    work->image = std::move(work->object);
    return;
  }
  work->status = link_image(request, work->object, &work->image, &work->log);
}

ffpa_jit_clang_result* compile(const ffpa_jit_clang_request* request) noexcept {
  std::unique_ptr<Result> out(new (std::nothrow) Result);
  if (!out) return nullptr;
  try {
    auto work = std::make_unique<Work>();
    std::string what;
    if (run_guarded([&] { compile_and_link(*request, work.get()); }, &what)) {
      out->status = work->status;
      out->bytes = std::move(work->image);
      out->text = std::move(work->log);
    } else {
      out->status = FFPA_JIT_CLANG_CRASHED;
      out->text = what;
      if (!work->log.empty()) out->text += "\n" + work->log;
      work.release();  // NOLINT: left as the crash left it
    }
  } catch (const std::bad_alloc&) {
    out->status = FFPA_JIT_CLANG_OUT_OF_MEMORY;
  } catch (...) {  // LLVM throws nothing; the standard library may
    out->status = FFPA_JIT_CLANG_CRASHED;
  }
  out->image = reinterpret_cast<const uint8_t*>(out->bytes.data());
  out->image_bytes = out->bytes.size();
  out->log = out->text.c_str();
  return out.release();
}

size_t describe_address_guarded(const uint8_t* image, size_t image_bytes, uint64_t address,
                                char* text, size_t capacity) noexcept {
  try {
    auto out = std::make_unique<std::string>();
    std::string what;
    if (!run_guarded([&] { describe_address({image, image_bytes}, address, out.get()); }, &what)) {
      out.release();  // NOLINT: left as the crash left it
      return 0;
    }
    const size_t length = std::min(out->size(), capacity);
    std::memcpy(text, out->data(), length);
    return length;
  } catch (...) {
    return 0;
  }
}

void free_result(ffpa_jit_clang_result* result) noexcept { delete static_cast<Result*>(result); }

// "clang 22.1.8" of "Debian clang version 22.1.8 (1~deb12u1)": what is loaded, not what this was
// built with.
std::string identity() {
  const std::string full = clang::getClangFullVersion();
  const std::string mark = "clang version ";
  const size_t at = full.find(mark);
  if (at == std::string::npos) return "clang " CLANG_VERSION_STRING;
  size_t end = at + mark.size();
  while (end < full.size() &&
         (std::isdigit(static_cast<unsigned char>(full[end])) || full[end] == '.')) {
    ++end;
  }
  return "clang " + full.substr(at + mark.size(), end - at - mark.size());
}

}  // namespace
}  // namespace ffpa_jit::clang_plugin

extern "C" __attribute__((visibility("default"))) const ffpa_jit_clang_api* ffpa_jit_clang_plugin(
    void) {
  using namespace ffpa_jit::clang_plugin;
  static const std::string& name = *new std::string(identity());
  static const ffpa_jit_clang_api api{FFPA_JIT_CLANG_ABI, name.c_str(), compile, free_result,
                                      describe_address_guarded};
  return &api;
}
