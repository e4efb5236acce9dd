#include "compile/clang/describe_address.h"

#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>

namespace ffpa_jit::clang_plugin {

void describe_address(llvm::ArrayRef<uint8_t> image, uint64_t address, std::string* out) {
  const llvm::MemoryBufferRef buffer(
      llvm::StringRef(reinterpret_cast<const char*>(image.data()), image.size()), "kernel");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  const std::unique_ptr<llvm::DWARFContext> dwarf = llvm::DWARFContext::create(**file);
  using Specifier = llvm::DILineInfoSpecifier;
  const llvm::DIInliningInfo frames = dwarf->getInliningInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection},
      Specifier(Specifier::FileLineInfoKind::RelativeFilePath, llvm::DINameKind::ShortName));
  for (uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo& frame = frames.getFrame(i);
    *out += frame.FileName + ":" + std::to_string(frame.Line) + "\t" + frame.FunctionName + "\n";
  }
}

}  // namespace ffpa_jit::clang_plugin
