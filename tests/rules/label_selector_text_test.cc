// SPDX-License-Identifier: Apache-2.0
// Selectors in messages.
#include "kcm/rules/label_selector_text.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

TEST(LabelSelectorText, IsWhatGoPrints) {
  const struct {
    const char* selector;
    const char* want;
  } rows[] = {
      {"null", "nil"},
      {"{}",
       "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:"
       "[]LabelSelectorRequirement{},}"},
      {R"({"matchLabels":{"b":"2","a":"1"}})",
       "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:"
       "[]LabelSelectorRequirement{},}"},
      {R"({"matchExpressions":[{"key":"k","operator":"In","values":["x","y"]},
           {"key":"l","operator":"Exists"}]})",
       "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:"
       "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},"
       "LabelSelectorRequirement{Key:l,Operator:Exists,Values:[],},},}"},
  };
  for (const auto& row : rows) EXPECT_EQ(LabelSelectorText(Parsed(row.selector)), row.want);
}

}  // namespace
}  // namespace kcm::rules
