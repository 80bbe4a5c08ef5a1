// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own, removed at its end.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace kcm::devcluster::test {

class TemporaryDir {
 public:
  TemporaryDir()
      : path_((std::filesystem::temp_directory_path() / "kcm-devcluster-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory");
  }
  ~TemporaryDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDir(const TemporaryDir&) = delete;
  TemporaryDir& operator=(const TemporaryDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace kcm::devcluster::test
