// SPDX-License-Identifier: Apache-2.0
// What tests of the loader share: the probe plugins (tests/plugins_bad), files, the memory map.
#pragma once
#include <string>

namespace kcm::test {

// Path of a probe build ("good" -> .../good.so).
std::string Probe(const std::string& name);
std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, const std::string& bytes, unsigned mode = 0644);
// Copies by writing a temporary name and renaming, as an installer does.
void Install(const std::string& from, const std::string& to);
// Number of lines of /proc/self/maps that contain `text`.
int MappingsOf(const std::string& text);

}  // namespace kcm::test
