#include "compile/clang/link_image.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

LLD_HAS_DRIVER(elf)

namespace ffpa_jit::clang_plugin {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

bool write_all(int fd, llvm::ArrayRef<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.drop_front(static_cast<size_t>(n));
  }
  return true;
}

void read_all(int fd, llvm::SmallVectorImpl<char>* out) {
  char chunk[1 << 16];
  while (true) {
    const ssize_t n = ::read(fd, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    out->append(chunk, chunk + n);
  }
}

std::string system_words(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// lld keeps its state in globals: one link at a time, and none after a crash has left them torn.
struct Linker {
  std::mutex mutex;
  bool usable = true;
};

Linker& linker() {
  static Linker& it = *new Linker;
  return it;
}

}  // namespace

bool imports_allowed(const ffpa_jit_clang_request& request, llvm::ArrayRef<char> object,
                     std::string* log) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "kernel.o");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) {
    *log += llvm::toString(file.takeError()) + "\n";
    return false;
  }
  bool allowed = true;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined) || name->empty()) continue;
    bool listed = *name == "_GLOBAL_OFFSET_TABLE_";  // the linker's own
    for (size_t i = 0; i < request.import_count; ++i) listed |= *name == request.imports[i];
    if (listed) continue;
    *log += "error: undefined function or variable `" + name->str() +
            "`; a kernel image may need only:";
    for (size_t i = 0; i < request.import_count; ++i) *log += std::string(" ") + request.imports[i];
    *log += "\n";
    allowed = false;
  }
  return allowed;
}

ffpa_jit_clang_status link_image(const ffpa_jit_clang_request& request, llvm::ArrayRef<char> object,
                                 llvm::SmallVectorImpl<char>* image, std::string* log) {
  const Descriptor input(::memfd_create("ffpa_jit_object", MFD_CLOEXEC));
  if (input.get() < 0 || !write_all(input.get(), object)) {
    *log += system_words("cannot hand the object to the linker in a memfd") + "\n";
    return FFPA_JIT_CLANG_CRASHED;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    *log += system_words("cannot make a pipe for the linker's output") + "\n";
    return FFPA_JIT_CLANG_CRASHED;
  }
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const std::string input_path = input.path(), output_path = to.path();

  std::vector<const char*> arguments{"ld.lld"};
  arguments.insert(arguments.end(), request.link_arguments,
                   request.link_arguments + request.link_argument_count);
  arguments.insert(arguments.end(), {"-o", output_path.c_str(), input_path.c_str()});

  llvm::raw_string_ostream log_stream(*log);
  lld::Result result{1, true};
  {
    std::thread reader([&] { read_all(from.get(), image); });
    {
      std::lock_guard lock(linker().mutex);
      if (linker().usable) {
        result = lld::lldMain(arguments, log_stream, log_stream, {{lld::Gnu, &lld::elf::link}});
        linker().usable = result.canRunAgain;
      } else {
        log_stream << "the linker crashed earlier in this process and cannot run again\n";
      }
    }
    to.close();  // the reader sees the end
    reader.join();
  }
  if (!result.canRunAgain || !linker().usable) return FFPA_JIT_CLANG_CRASHED;
  return result.retCode == 0 && !image->empty() ? FFPA_JIT_CLANG_OK : FFPA_JIT_CLANG_REFUSED;
}

}  // namespace ffpa_jit::clang_plugin
