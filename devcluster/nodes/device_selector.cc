// SPDX-License-Identifier: Apache-2.0
// Parses and evaluates device selectors.
#include "devcluster/nodes/device_selector.h"

#include <algorithm>
#include <regex>

namespace kcm::devcluster::nodes {
namespace {

using rules::Node;

// The parts between && that are not inside quotes.
std::vector<std::string> Conjuncts(std::string_view text) {
  std::vector<std::string> out(1);
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (text.substr(i, 2) == "&&") {
      out.emplace_back();
      ++i;
      continue;
    }
    out.back() += c;
  }
  return out;
}

constexpr size_t kLongestExpression = 4096;  // std::regex recurses with the length of its input

}  // namespace

Node AttributeOf(Node device, std::string_view driver, std::string_view domain,
                 std::string_view name) {
  const Node attributes = device.Get("attributes");
  const Node qualified = attributes.Get(std::string(domain) + "/" + std::string(name));
  if (qualified.Has() || domain != driver) return qualified;
  return attributes.Get(name);
}

std::string AttributeText(Node attribute) {
  for (const char* type : {"string", "version"}) {
    if (attribute.Get(type).IsString()) return std::string(attribute.Get(type).String());
  }
  if (attribute.Get("int").IsNumber()) return std::to_string(attribute.Get("int").Int());
  if (attribute.Get("bool").Has()) return attribute.Get("bool").Bool() ? "true" : "false";
  return {};
}

Result<DeviceSelector> DeviceSelector::Parse(std::string_view expression) {
  static const std::regex driver(R"re(\s*device\.driver\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)')\s*)re");
  static const std::regex attribute(R"re(\s*device\.attributes\[(?:"([^"]+)"|'([^']+)')\])re"
                                    R"re((?:\.(\w+)|\[(?:"([^"]+)"|'([^']+)')\])\s*(==|!=)\s*)re"
                                    R"re((?:"([^"]*)"|'([^']*)'|(-?\d+|true|false))\s*)re");
  const auto refuse = [&](std::string_view part) {
    return MakeError(Code::kUnsupported,
                     "the selector \"" + std::string(part) +
                         "\" is beyond this simulator: compare device.driver and "
                         "device.attributes[DOMAIN].NAME by == or !=, joined by &&");
  };
  if (expression.size() > kLongestExpression) {
    return refuse(expression.substr(0, 40));
  }
  DeviceSelector out;
  for (const std::string& part : Conjuncts(expression)) {
    std::smatch m;
    Comparison c;
    if (std::regex_match(part, m, driver)) {
      c.equal = m[1] == "==";
      c.value = m[2].str() + m[3].str();
    } else if (std::regex_match(part, m, attribute)) {
      c.domain = m[1].str() + m[2].str();
      c.attribute = m[3].str() + m[4].str() + m[5].str();
      c.equal = m[6] == "==";
      c.text = !m[9].matched;
      c.value = m[7].str() + m[8].str() + m[9].str();
    } else {
      return refuse(part);
    }
    out.comparisons_.push_back(std::move(c));
  }
  return out;
}

bool DeviceSelector::Comparison::Holds(std::string_view driver, Node device) const {
  if (attribute.empty()) return (driver == value) == equal;
  const Node found = AttributeOf(device, driver, domain, attribute);
  if (!found.Has()) return false;
  const bool is_text = found.Get("string").IsString() || found.Get("version").IsString();
  return (is_text == text && AttributeText(found) == value) == equal;
}

bool DeviceSelector::Matches(std::string_view driver, Node device) const {
  return std::all_of(comparisons_.begin(), comparisons_.end(),
                     [&](const Comparison& c) { return c.Holds(driver, device); });
}

}  // namespace kcm::devcluster::nodes
