// SPDX-License-Identifier: Apache-2.0
// The YAML side of kubeconfig parsing: typed reads of a node, and YAML as JSON text. Includes
// yaml-cpp: private to .cc files.
#pragma once
#include <yaml-cpp/yaml.h>

#include <string>

#include "kcm/rules/result.h"

namespace kcm::host::client {

// Reads members of one mapping; the first wrong type is kept as the error, later reads give
// defaults.
class YamlReader {
 public:
  YamlReader(YAML::Node node, std::string where);
  std::string String(const char* name);
  bool Bool(const char* name);
  // Base64 of a `-data` member, decoded.
  std::string Bytes(const char* name);
  YAML::Node List(const char* name);
  YAML::Node Map(const char* name);
  // "" when everything fitted.
  const std::string& error() const { return error_; }

 private:
  YAML::Node Member(const char* name) const;
  void Fail(const char* name, const char* wanted);

  YAML::Node node_;
  std::string where_;
  std::string error_;
};

// A YAML value as JSON text (plain scalars get their JSON type).
std::string YamlToJson(const YAML::Node& node);

}  // namespace kcm::host::client
