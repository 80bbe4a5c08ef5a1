// SPDX-License-Identifier: Apache-2.0
// Loads the recordings.
#include "host/wire/samples.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "build_paths.h"

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

std::vector<std::string> LoadApiObjects() {
  std::vector<std::string> objects;
  std::istringstream lines(ReadFile("api_objects.jsonl"));
  for (std::string line; std::getline(lines, line);) objects.push_back(line);
  return objects;
}

std::vector<Body> LoadKubectlBodies() {
  std::vector<Body> bodies;
  std::istringstream lines(ReadFile("kubectl_bodies.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json j = json::parse(line);
    bodies.push_back({j.at("method").get<std::string>() + " " + j.at("path").get<std::string>(),
                      DecodeBase64(j.at("body").get<std::string>())});
  }
  return bodies;
}

bool SameJson(std::string_view got, std::string_view want, std::string* difference) {
  const json x = json::parse(got), y = json::parse(want);
  if (x == y) return true;
  *difference = json::diff(y, x).dump(1);
  return false;
}

std::string WithoutInnerTypes(std::string_view text) {
  json j = json::parse(text);
  const auto strip = [](json& objects) {
    for (json& object : objects) {
      object.erase("kind");
      object.erase("apiVersion");
    }
  };
  // Only PartialObjectMetadataList has null for no items.
  if (j.contains("items") && j["items"].is_null()) j["items"] = json::array();
  if (j.contains("items")) strip(j["items"]);
  if (j.contains("spec") && j["spec"].contains("volumeClaimTemplates"))
    strip(j["spec"]["volumeClaimTemplates"]);
  return j.dump();
}

}  // namespace kcm::host::wire::testing
