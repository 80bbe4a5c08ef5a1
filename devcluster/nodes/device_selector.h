// SPDX-License-Identifier: Apache-2.0
// DeviceSelector: the CEL expressions of DeviceClasses and device requests, as far as simulated
// hardware needs them: comparisons joined by &&, of the forms
//
//   device.driver == "gpu.example.com"
//   device.attributes["gpu.example.com"].model != "a100"     (also ["model"]; text, number, bool)
//
// Everything else is refused with an error that says so.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster::nodes {

// Immutable; a value type; thread-safe.
class DeviceSelector {
 public:
  static Result<DeviceSelector> Parse(std::string_view expression);
  // `device`: an entry of ResourceSlice.spec.devices, of `driver`. An attribute that the device
  // lacks satisfies nothing.
  bool Matches(std::string_view driver, rules::Node device) const;

 private:
  struct Comparison {
    std::string domain, attribute;  // both empty: the driver
    bool equal = true;
    std::string value;  // text without quotes
    bool text = true;   // it was quoted
    bool Holds(std::string_view driver, rules::Node device) const;
  };
  std::vector<Comparison> comparisons_;
};

// The attribute `domain/name` of a device ({"string": "x"}), which may stand there without the
// domain when that is the driver's. Absent Node without it.
rules::Node AttributeOf(rules::Node device, std::string_view driver, std::string_view domain,
                        std::string_view name);
// Its value as text: "x", "3", "true", "1.0.0".
std::string AttributeText(rules::Node attribute);

}  // namespace kcm::devcluster::nodes
