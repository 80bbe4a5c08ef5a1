// SPDX-License-Identifier: Apache-2.0
// FaultyDisk: while it lives, SQLite's files in this process are on a disk that a test can fill up
// or break.
//
//   FaultyDisk disk;
//   disk.room = 0;          // every write: no space left
//   disk.sync_fails = true; // every fsync: I/O error
//   disk.ShutGate();        // every fsync waits until OpenGate()
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

struct sqlite3_vfs;

namespace kcm::devcluster::test {

// One at a time. Files opened while it lives must be closed before it ends.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  std::atomic<int64_t> room{INT64_MAX};  // bytes that may still be written
  std::atomic<bool> sync_fails{false};
  std::atomic<int> syncs{0};
  // While the gate is shut every fsync waits in front of it.
  void ShutGate();
  void OpenGate();
  // Blocks until an fsync waits.
  void AwaitSync();
  void Sync();  // what an fsync does

 private:
  std::mutex mutex_;  // guards the two below
  bool shut_ = false;
  int waiting_ = 0;
  std::condition_variable changed_;
  sqlite3_vfs* vfs_;
};

}  // namespace kcm::devcluster::test
