// Runs a piece of LLVM such that its crashes and fatal errors end the piece, not the host.
#pragma once

#include <functional>
#include <string>

namespace ffpa_jit::clang_plugin {

// True: `work` returned. False: it crashed or gave up; `what` has the words known. Memory that it
// held is lost then. While any guarded piece runs, LLVM's handlers for SIGSEGV, SIGBUS, SIGILL,
// SIGFPE, SIGABRT and SIGTRAP are installed (a signal of a thread that runs no guarded piece goes
// on to the host's handlers); afterwards the host's are back.
bool run_guarded(const std::function<void()>& work, std::string* what);

}  // namespace ffpa_jit::clang_plugin
