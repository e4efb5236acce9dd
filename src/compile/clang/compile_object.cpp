#include "compile/clang/compile_object.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ffpa_jit::clang_plugin {
namespace {

bool stop_asked(const ffpa_jit_clang_request& request) {
  return request.should_stop && request.should_stop(request.user);
}

// The back end proper has no point where it can be stopped, so a stopped compile reaches it
// empty-handed.
class DropBodiesIfStopped : public llvm::PassInfoMixin<DropBodiesIfStopped> {
 public:
  explicit DropBodiesIfStopped(const ffpa_jit_clang_request& request) : request_(&request) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!stop_asked(*request_)) return llvm::PreservedAnalyses::all();
    for (llvm::Function& function : module) function.deleteBody();
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

 private:
  const ffpa_jit_clang_request* request_;
};

void make_stoppable(llvm::PassBuilder& builder, const ffpa_jit_clang_request& request) {
  if (auto* callbacks = builder.getPassInstrumentationCallbacks()) {
    callbacks->registerShouldRunOptionalPassCallback(
        [&request](llvm::StringRef, llvm::Any) { return !stop_asked(request); });
  }
  builder.registerOptimizerLastEPCallback(
      [&request](llvm::ModulePassManager& passes, llvm::OptimizationLevel,
                 llvm::ThinOrFullLTOPhase) { passes.addPass(DropBodiesIfStopped(request)); });
}

void initialize_targets_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

}  // namespace

ffpa_jit_clang_status compile_object(const ffpa_jit_clang_request& request,
                                     llvm::SmallVectorImpl<char>* object, std::string* log) {
  initialize_targets_once();
  llvm::raw_string_ostream log_stream(*log);

  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile(request.file_name, 0,
                 llvm::MemoryBuffer::getMemBuffer(request.text, request.file_name));

  clang::DiagnosticOptions argument_options;
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  {
    clang::TextDiagnosticPrinter printer(log_stream, argument_options);
    clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), argument_options, &printer,
                                         /*ShouldOwnClient=*/false);
    std::vector<const char*> arguments(request.cc1_arguments,
                                       request.cc1_arguments + request.cc1_argument_count);
    arguments.push_back(request.file_name);
    if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, diagnostics)) {
      return FFPA_JIT_CLANG_REFUSED;
    }
  }
  invocation->getCodeGenOpts().PassBuilderCallbacks.push_back(
      [&request](llvm::PassBuilder& builder) { make_stoppable(builder, request); });

  clang::CompilerInstance compiler(invocation);
  compiler.setVirtualFileSystem(files);
  compiler.createDiagnostics(
      new clang::TextDiagnosticPrinter(log_stream, compiler.getDiagnosticOpts()));
  compiler.setVerboseOutputStream(log_stream);
  compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(*object));

  clang::EmitObjAction action;
  const bool done = compiler.ExecuteAction(action);
  if (stop_asked(request)) return FFPA_JIT_CLANG_STOPPED;
  return done ? FFPA_JIT_CLANG_OK : FFPA_JIT_CLANG_REFUSED;
}

}  // namespace ffpa_jit::clang_plugin
