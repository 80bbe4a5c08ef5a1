// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own, removed with everything in it at the test's end.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace kcm::harness {

class TemporaryDir {
 public:
  // Throws std::runtime_error when it can not be made.
  TemporaryDir() : path_((std::filesystem::temp_directory_path() / "kcm-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory");
  }
  ~TemporaryDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDir(const TemporaryDir&) = delete;
  TemporaryDir& operator=(const TemporaryDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file of mode 0600, and the folders on its way; returns its path.
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string file = *this / name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file, std::ios::binary) << text;
    std::filesystem::permissions(
        file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return file;
  }

 private:
  std::string path_;
};

}  // namespace kcm::harness
