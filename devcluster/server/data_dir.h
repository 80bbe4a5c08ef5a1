// SPDX-License-Identifier: Apache-2.0
// DataDir: the directory of a server that outlives its process. One process at a time has it; all
// files in it are readable by their owner only, because they hold Secrets and private keys.
//
//   lock                 held while a server runs, says which process it is
//   objects.sqlite (-wal) the objects (journal.h)
//   ca.pem               the cluster's certificate authority: key and certificate
//   service-account.pem  the key that signs service account tokens
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "kcm/rules/result.h"

namespace kcm::devcluster {

// Used by one thread. The directory is released when this is destroyed or the process ends.
class DataDir {
 public:
  // Makes the directory when it is absent (its parent must be there) and takes it. Errors name the
  // directory and what to do: in use by another process, not a directory, not writable.
  static Result<std::unique_ptr<DataDir>> Open(const std::string& path);
  ~DataDir();
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // The content of a small private file. Absent: `make` gives it, and it is on disk, whole, when
  // this returns. An empty text from `make` is an error.
  Result<std::string> ReadOrMake(const std::string& name,
                                 const std::function<std::string()>& make) const;

 private:
  DataDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;
};

}  // namespace kcm::devcluster
