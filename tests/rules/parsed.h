// SPDX-License-Identifier: Apache-2.0
// Parsed: a JSON text of a test table, readable as a rules::Node while it lives.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "kcm/rules/json_node.h"

namespace kcm::rules {

class Parsed {
 public:
  Parsed(std::string_view text)
      : json_(nlohmann::ordered_json::parse(text)) {}  // NOLINT: rows are texts
  Node node() const { return JsonNode(json_); }
  operator Node() const { return node(); }  // NOLINT: stands for its Node

 private:
  nlohmann::ordered_json json_;  // keeps the member order of the text
};

}  // namespace kcm::rules
