// A SQLite VFS that fails the N-th operation that reaches the operating system, once or from then
// on. SQLite's own anomaly tests work this way.
#pragma once

#include <sqlite3.h>

#include <cstring>
#include <string>

namespace ffpa_jit {

class FaultVfs {
 public:
  enum Kind : unsigned {
    kWrite = 1,
    kSync = 2,
    kOpen = 4,
    kRead = 8,
    kSharedMemory = 16,
    kLock = 32
  };

  static constexpr const char* kName = "fault";

  // Registered once per process.
  static FaultVfs& instance() {
    static FaultVfs vfs;
    return vfs;
  }

  // The `countdown`-th operation of `kinds` fails with `code` (0: none ever does); `lasting`: all
  // later ones too.
  void arm(unsigned kinds, int countdown, int code, bool lasting) {
    kinds_ = kinds;
    countdown_ = countdown;
    code_ = code;
    lasting_ = lasting;
    fired_ = false;
  }
  void disarm() { arm(0, 0, SQLITE_OK, false); }
  bool fired() const { return fired_; }

 private:
  struct File {
    sqlite3_file base;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File* as_file(sqlite3_file* f) { return reinterpret_cast<File*>(f); }
  static sqlite3_file* real(sqlite3_file* f) { return as_file(f)->real(); }

  // SQLITE_OK: go on.
  static int fault(Kind kind) {
    FaultVfs& vfs = instance();
    if (!(vfs.kinds_ & kind) || vfs.countdown_ <= 0) {
      return vfs.fired_ && vfs.lasting_ && (vfs.kinds_ & kind) ? vfs.code_ : SQLITE_OK;
    }
    if (--vfs.countdown_ > 0) return SQLITE_OK;
    vfs.fired_ = true;
    return vfs.code_;
  }

  FaultVfs() {
    root_ = sqlite3_vfs_find(nullptr);
    vfs_ = *root_;
    vfs_.szOsFile = root_->szOsFile + static_cast<int>(sizeof(File));
    vfs_.zName = kName;
    vfs_.xOpen = [](sqlite3_vfs*, sqlite3_filename name, sqlite3_file* f, int flags, int* out) {
      f->pMethods = nullptr;
      if (const int code = fault(kOpen)) return code == SQLITE_IOERR ? SQLITE_CANTOPEN : code;
      sqlite3_vfs* root = instance().root_;
      const int code = root->xOpen(root, name, real(f), flags, out);
      if (code == SQLITE_OK) f->pMethods = methods();
      return code;
    };
    vfs_.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
      if (const int code = fault(kSync)) return code;
      return instance().root_->xDelete(instance().root_, name, sync);
    };
    vfs_.xAccess = [](sqlite3_vfs*, const char* name, int flags, int* out) {
      return instance().root_->xAccess(instance().root_, name, flags, out);
    };
    vfs_.xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* out) {
      return instance().root_->xFullPathname(instance().root_, name, size, out);
    };
    sqlite3_vfs_register(&vfs_, 0);
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods table = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;
      m.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
      m.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
        if (const int code = fault(kRead)) return code == SQLITE_IOERR ? SQLITE_IOERR_READ : code;
        return real(f)->pMethods->xRead(real(f), to, n, at);
      };
      m.xWrite = [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
        if (const int code = fault(kWrite)) {
          // As a full disk does it: the first part arrives.
          if (n > 1) real(f)->pMethods->xWrite(real(f), from, n / 2, at);
          return code == SQLITE_IOERR ? SQLITE_IOERR_WRITE : code;
        }
        return real(f)->pMethods->xWrite(real(f), from, n, at);
      };
      m.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
        if (const int code = fault(kWrite))
          return code == SQLITE_IOERR ? SQLITE_IOERR_TRUNCATE : code;
        return real(f)->pMethods->xTruncate(real(f), size);
      };
      m.xSync = [](sqlite3_file* f, int flags) {
        if (const int code = fault(kSync)) return code == SQLITE_IOERR ? SQLITE_IOERR_FSYNC : code;
        return real(f)->pMethods->xSync(real(f), flags);
      };
      m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
        if (const int code = fault(kRead)) return code == SQLITE_IOERR ? SQLITE_IOERR_FSTAT : code;
        return real(f)->pMethods->xFileSize(real(f), size);
      };
      m.xLock = [](sqlite3_file* f, int level) {
        if (const int code = fault(kLock)) return code == SQLITE_IOERR ? SQLITE_IOERR_LOCK : code;
        return real(f)->pMethods->xLock(real(f), level);
      };
      m.xUnlock = [](sqlite3_file* f, int level) {
        return real(f)->pMethods->xUnlock(real(f), level);
      };
      m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
        return real(f)->pMethods->xCheckReservedLock(real(f), out);
      };
      m.xFileControl = [](sqlite3_file* f, int op, void* argument) {
        return real(f)->pMethods->xFileControl(real(f), op, argument);
      };
      m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
      m.xDeviceCharacteristics = [](sqlite3_file* f) {
        return real(f)->pMethods->xDeviceCharacteristics(real(f));
      };
      m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
        if (const int code = fault(kSharedMemory)) {
          *out = nullptr;
          return code == SQLITE_IOERR ? SQLITE_IOERR_SHMMAP : code;
        }
        return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
      };
      m.xShmLock = [](sqlite3_file* f, int at, int n, int flags) {
        return real(f)->pMethods->xShmLock(real(f), at, n, flags);
      };
      m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
      m.xShmUnmap = [](sqlite3_file* f, int remove) {
        return real(f)->pMethods->xShmUnmap(real(f), remove);
      };
      return m;
    }();
    return &table;
  }

  sqlite3_vfs* root_ = nullptr;
  sqlite3_vfs vfs_{};
  unsigned kinds_ = 0;
  int countdown_ = 0;
  int code_ = SQLITE_OK;
  bool lasting_ = false;
  bool fired_ = false;
};

}  // namespace ffpa_jit
