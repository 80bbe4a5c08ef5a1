// SPDX-License-Identifier: Apache-2.0
// Files of the loader's tests.
#include "host/plugin/probes.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "build_paths.h"

namespace kcm::test {

std::string Probe(const std::string& name) {
  return std::string(KCM_BUILD_DIR) + "/probes/" + name + ".so";
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("can not read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteAll(const std::string& path, const std::string& bytes, unsigned mode) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  ::chmod(path.c_str(), mode);
}

void Install(const std::string& from, const std::string& to) {
  WriteAll(to + ".part", ReadAll(from));
  std::filesystem::rename(to + ".part", to);
}

int MappingsOf(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  int n = 0;
  for (std::string line; std::getline(maps, line);)
    n += line.find(text) != std::string::npos ? 1 : 0;
  return n;
}

}  // namespace kcm::test
