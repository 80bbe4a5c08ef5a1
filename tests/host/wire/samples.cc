// SPDX-License-Identifier: Apache-2.0
// Loads the recordings.
#include "host/wire/samples.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace kcm::host::wire::testing {
namespace {
using nlohmann::json;
}

std::string ReadFile(const std::string& name) {
  std::ifstream file(std::string(KCM_SOURCE_DIR) + "/tests/host/wire/testdata/" + name,
                     std::ios::binary);
  if (!file) throw std::runtime_error("no recording " + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string DecodeBase64(std::string_view text) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int have = 0;
  for (const char c : text) {
    const size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) continue;
    bits = (bits << 6) | static_cast<unsigned>(digit);
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>((bits >> have) & 0xFF);
    }
  }
  return out;
}

std::vector<Sample> LoadSamples() {
  std::vector<Sample> samples;
  std::istringstream lines(ReadFile("samples.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json j = json::parse(line);
    samples.push_back(
        {j.at("resource"), DecodeBase64(j.at("protobuf").get<std::string>()), j.at("json").dump()});
  }
  return samples;
}

bool SameJson(std::string_view got, std::string_view want, std::string* difference) {
  const json x = json::parse(got), y = json::parse(want);
  if (x == y) return true;
  *difference = json::diff(y, x).dump(1);
  return false;
}

std::string WithoutManagedFields(std::string_view text) {
  json j = json::parse(text);
  if (j.contains("metadata")) j["metadata"].erase("managedFields");
  return j.dump();
}

}  // namespace kcm::host::wire::testing
