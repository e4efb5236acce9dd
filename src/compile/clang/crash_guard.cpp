#include "compile/clang/crash_guard.h"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#include <cstring>
#include <mutex>

namespace ffpa_jit::clang_plugin {
namespace {

// Plain storage: it is written on the way into a longjmp.
thread_local char fatal_message[1024];

void on_fatal_error(void*, const char* reason, bool) {
  std::strncpy(fatal_message, reason, sizeof(fatal_message) - 1);
  // Leaves through the context, like a crash, but without abort(), whose lock would stay held.
  if (auto* context = llvm::CrashRecoveryContext::GetCurrent()) context->HandleExit(1);
}

// The handlers are the process's: installed by the first piece that begins, removed by the last
// that ends.
class Handlers {
 public:
  Handlers() {
    std::lock_guard lock(mutex());
    if (count()++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(on_fatal_error);
    }
  }
  ~Handlers() {
    std::lock_guard lock(mutex());
    if (--count() == 0) {
      llvm::remove_fatal_error_handler();
      llvm::CrashRecoveryContext::Disable();
    }
  }

 private:
  static std::mutex& mutex() {
    static std::mutex& it = *new std::mutex;
    return it;
  }
  static int& count() {
    static int it = 0;
    return it;
  }
};

}  // namespace

bool run_guarded(const std::function<void()>& work, std::string* what) {
  const Handlers handlers;
  fatal_message[0] = '\0';
  llvm::CrashRecoveryContext context;
  if (context.RunSafely([&] { work(); })) return true;
  *what =
      fatal_message[0] ? fatal_message : "crashed (code " + std::to_string(context.RetCode) + ")";
  return false;
}

}  // namespace ffpa_jit::clang_plugin
