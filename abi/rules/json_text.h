// SPDX-License-Identifier: Apache-2.0
// JSON text of a Node, byte for byte as Go's encoder writes it (spec/pod-workloads.md 1.15.2): no
// blanks, `<` `>` `&` as \u003c \u003e \u0026, U+2028/9 escaped, other characters raw, broken UTF-8
// as U+FFFD, floats in their shortest form.
//
//   std::string text = JsonText(pod.Get("spec"));
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

enum class JsonForm : uint8_t {
  kAsHeld,  // members in the order in which the holder gives them
  kSorted,  // members bytewise by name at every level
  // kSorted, and integers beyond +-2^53 rounded to a double first (ControllerRevision
  // data, 1.15.2).
  kCanonical,
  // kCanonical, and members that are null left out (pod-template-hash, 4.9).
  kCanonicalWithoutNulls,
};

// Absent prints as null. REQUIRES: a depth that the parser of the bytes has bounded (recursive).
std::string JsonText(Node node, JsonForm form = JsonForm::kAsHeld);
void AppendJson(std::string& out, Node node, JsonForm form = JsonForm::kAsHeld);

// `"..."` with the escapes above.
void AppendJsonString(std::string& out, std::string_view text);
// As Go: shortest decimal that reads back, plain between 1e-6 and 1e21, else `1e-7`, `1e+21`. NaN
// and infinities: null.
void AppendJsonDouble(std::string& out, double value);
void AppendJsonInt(std::string& out, int64_t value);

}  // namespace kcm::rules
