// SPDX-License-Identifier: Apache-2.0
// Plugin directories: what lies in them, checks of the directories themselves, and a thread that
// notices changes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::plugin {

// Identity of a file's content as far as the file system tells; equal = unchanged.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

struct PluginFile {
  std::string path;
  FileStamp stamp;  // of what the path leads to (symbolic links followed), or of a dangling link
  bool dangling = false;  // a symbolic link that leads nowhere
};

// Missing, not a directory, or writable by group or others (without it a stranger could add code):
// says which and the fix.
Status CheckDirectory(const std::string& dir);

// All *.so of a directory by name; hidden names are left out (ConfigMap mounts and editors make
// them).
Result<std::vector<PluginFile>> ScanDirectory(const std::string& dir);

// Calls `changed` on its own thread soon after its own begin, and some time after something in one
// of the directories changed: once per burst of changes. Also calls it every `recheck` while
// `changed` returns true ("look again": a file was incomplete, a removal must be confirmed). A
// directory that is replaced by another of its name, or reached through a symbolic link that now
// leads elsewhere, is a change too, seen within 5 s. Files are of the real world: this runs on real
// time, not on the Clock.
class DirectoryWatch {
 public:
  // An error names the limit that stands against it.
  static Result<std::unique_ptr<DirectoryWatch>> Make(std::vector<std::string> dirs,
                                                      std::function<bool()> changed);
  ~DirectoryWatch();  // joins

 private:
  DirectoryWatch(std::vector<std::string> dirs, std::function<bool()> changed);
  Status Start();
  void Run();
  // Watches what the names stand for now. True when that is not what was watched before.
  bool Arm();
  std::vector<std::string> dirs_;
  std::vector<int> watched_;  // per directory, -1: there is none of this name
  std::function<bool()> changed_;
  int inotify_ = -1;
  int stop_read_ = -1, stop_write_ = -1;
  std::thread thread_;
};

}  // namespace kcm::host::plugin
