// SPDX-License-Identifier: Apache-2.0
// Typed reads of YAML, on behalf of kubeconfig.cc.
#include "host/client/kubeconfig_yaml.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "host/client/base64.h"

namespace kcm::host::client {
namespace {

nlohmann::json ToJson(const YAML::Node& node) {
  if (node.IsSequence()) {
    nlohmann::json out = nlohmann::json::array();
    for (const YAML::Node& item : node) out.push_back(ToJson(item));
    return out;
  }
  if (node.IsMap()) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& entry : node) out[entry.first.Scalar()] = ToJson(entry.second);
    return out;
  }
  if (!node.IsScalar()) return nullptr;
  if (node.Tag() == "!") return node.Scalar();  // quoted: a string whatever it looks like
  bool b = false;
  if ((node.Scalar() == "true" || node.Scalar() == "false") && YAML::convert<bool>::decode(node, b))
    return b;
  int64_t i = 0;
  if (YAML::convert<int64_t>::decode(node, i)) return i;
  double d = 0;
  if (YAML::convert<double>::decode(node, d)) return d;
  return node.Scalar();
}

}  // namespace

YamlReader::YamlReader(YAML::Node node, std::string where)
    : node_(std::move(node)), where_(std::move(where)) {
  if (node_.IsDefined() && !node_.IsNull() && !node_.IsMap())
    error_ = where_ + ": must be a mapping";
}

YAML::Node YamlReader::Member(const char* name) const {
  // A const node: looking up must not insert.
  const YAML::Node& node = node_;
  return node.IsMap() ? node[name] : YAML::Node(YAML::NodeType::Undefined);
}

void YamlReader::Fail(const char* name, const char* wanted) {
  if (error_.empty()) error_ = where_ + "." + name + ": must be " + wanted;
}

std::string YamlReader::String(const char* name) {
  const YAML::Node member = Member(name);
  if (!member.IsDefined() || member.IsNull()) return "";
  if (member.IsScalar()) return member.Scalar();
  Fail(name, "a string");
  return "";
}

bool YamlReader::Bool(const char* name) {
  const YAML::Node member = Member(name);
  if (!member.IsDefined() || member.IsNull()) return false;
  bool value = false;
  if (member.IsScalar() && YAML::convert<bool>::decode(member, value)) return value;
  Fail(name, "true or false");
  return false;
}

std::string YamlReader::Bytes(const char* name) {
  std::optional<std::string> bytes = DecodeBase64(String(name));
  if (bytes) return *std::move(bytes);
  Fail(name, "base64");
  return "";
}

YAML::Node YamlReader::List(const char* name) {
  const YAML::Node member = Member(name);
  if (!member.IsDefined() || member.IsNull()) return YAML::Node(YAML::NodeType::Sequence);
  if (member.IsSequence()) return member;
  Fail(name, "a list");
  return YAML::Node(YAML::NodeType::Sequence);
}

YAML::Node YamlReader::Map(const char* name) {
  const YAML::Node member = Member(name);
  if (!member.IsDefined() || member.IsNull()) return YAML::Node(YAML::NodeType::Map);
  if (member.IsMap()) return member;
  Fail(name, "a mapping");
  return YAML::Node(YAML::NodeType::Map);
}

std::string YamlToJson(const YAML::Node& node) {
  return ToJson(node).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace kcm::host::client
