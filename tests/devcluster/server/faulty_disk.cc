// SPDX-License-Identifier: Apache-2.0
// A SQLite file system that passes everything on to the default one, but for the faults
// (faulty_disk.h).
#include "devcluster/server/faulty_disk.h"

#include <sqlite3.h>

#include <cstring>

namespace kcm::devcluster::test {
namespace {

FaultyDisk* installed = nullptr;

// Our file; the real one follows in the same memory.
struct File {
  sqlite3_file base;
  sqlite3_file* real;
};

sqlite3_file* Real(sqlite3_file* f) { return reinterpret_cast<File*>(f)->real; }

int Write(sqlite3_file* f, const void* bytes, int n, sqlite3_int64 at) {
  if (installed->room.fetch_sub(n) < n) {
    installed->room += n;
    return SQLITE_FULL;
  }
  return Real(f)->pMethods->xWrite(Real(f), bytes, n, at);
}

int Sync(sqlite3_file* f, int flags) {
  installed->Sync();
  if (installed->sync_fails) return SQLITE_IOERR_FSYNC;
  return Real(f)->pMethods->xSync(Real(f), flags);
}

int Close(sqlite3_file* f) { return Real(f)->pMethods->xClose(Real(f)); }
int Read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return Real(f)->pMethods->xRead(Real(f), to, n, at);
}
int Truncate(sqlite3_file* f, sqlite3_int64 n) { return Real(f)->pMethods->xTruncate(Real(f), n); }
int Size(sqlite3_file* f, sqlite3_int64* n) { return Real(f)->pMethods->xFileSize(Real(f), n); }
int Lock(sqlite3_file* f, int level) { return Real(f)->pMethods->xLock(Real(f), level); }
int Unlock(sqlite3_file* f, int level) { return Real(f)->pMethods->xUnlock(Real(f), level); }
int Reserved(sqlite3_file* f, int* out) {
  return Real(f)->pMethods->xCheckReservedLock(Real(f), out);
}
int Control(sqlite3_file* f, int op, void* arg) {
  return Real(f)->pMethods->xFileControl(Real(f), op, arg);
}
int Sector(sqlite3_file* f) { return Real(f)->pMethods->xSectorSize(Real(f)); }
int Device(sqlite3_file* f) { return Real(f)->pMethods->xDeviceCharacteristics(Real(f)); }
int ShmMap(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return Real(f)->pMethods->xShmMap(Real(f), page, size, extend, out);
}
int ShmLock(sqlite3_file* f, int offset, int n, int flags) {
  return Real(f)->pMethods->xShmLock(Real(f), offset, n, flags);
}
void ShmBarrier(sqlite3_file* f) { Real(f)->pMethods->xShmBarrier(Real(f)); }
int ShmUnmap(sqlite3_file* f, int remove) { return Real(f)->pMethods->xShmUnmap(Real(f), remove); }

const sqlite3_io_methods kMethods = {
    2,       Close,  Read,   Write,  Truncate, Sync,       Size,     Lock,    Unlock, Reserved,
    Control, Sector, Device, ShmMap, ShmLock,  ShmBarrier, ShmUnmap, nullptr, nullptr};

sqlite3_vfs* Below(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* f, int flags, int* out) {
  auto* file = reinterpret_cast<File*>(f);
  file->base.pMethods = nullptr;
  file->real = reinterpret_cast<sqlite3_file*>(file + 1);
  const int code = Below(vfs)->xOpen(Below(vfs), name, file->real, flags, out);
  if (file->real->pMethods != nullptr) file->base.pMethods = &kMethods;
  return code;
}

}  // namespace

FaultyDisk::FaultyDisk() : vfs_(new sqlite3_vfs) {
  sqlite3_vfs* below = sqlite3_vfs_find(nullptr);
  std::memcpy(vfs_, below, sizeof *vfs_);
  vfs_->zName = "faulty";
  vfs_->pAppData = below;
  vfs_->pNext = nullptr;
  vfs_->szOsFile += static_cast<int>(sizeof(File));
  vfs_->xOpen = Open;
  // The rest of the calls of the default file system need no object of its own but these.
  vfs_->xDelete = [](sqlite3_vfs* v, const char* n, int sync) {
    return Below(v)->xDelete(Below(v), n, sync);
  };
  vfs_->xAccess = [](sqlite3_vfs* v, const char* n, int flags, int* out) {
    return Below(v)->xAccess(Below(v), n, flags, out);
  };
  vfs_->xFullPathname = [](sqlite3_vfs* v, const char* n, int size, char* out) {
    return Below(v)->xFullPathname(Below(v), n, size, out);
  };
  installed = this;
  sqlite3_vfs_register(vfs_, 1);
}

void FaultyDisk::Sync() {
  ++syncs;
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !shut_; });
  --waiting_;
}

void FaultyDisk::ShutGate() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
}

void FaultyDisk::OpenGate() {
  const std::lock_guard lock(mutex_);
  shut_ = false;
  changed_.notify_all();
}

void FaultyDisk::AwaitSync() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_ > 0; });
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(vfs_);
  sqlite3_vfs_register(Below(vfs_), 1);
  installed = nullptr;
  delete vfs_;
}

}  // namespace kcm::devcluster::test
