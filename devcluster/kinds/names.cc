// SPDX-License-Identifier: Apache-2.0
// Name rules by kind, and port names.
#include "devcluster/kinds/names.h"

#include <algorithm>

#include "kcm/rules/name_validation.h"

namespace kcm::devcluster::kinds {

namespace {
bool Lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
std::string TooManyCharacters(int max) {
  return "must be no more than " + std::to_string(max) + " characters";
}
}  // namespace

Faults CheckPortName(std::string_view name) {
  Faults out;
  if (name.size() > 15) out.push_back(TooManyCharacters(15));
  if (!std::all_of(name.begin(), name.end(), [](char c) { return Lower(c) || c == '-'; })) {
    out.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    out.push_back("must contain at least one letter (a-z)");
  }
  if (name.find("--") != std::string_view::npos)
    out.push_back("must not contain consecutive hyphens");
  if (!name.empty() && (name.front() == '-' || name.back() == '-'))
    out.push_back("must not begin or end with a hyphen");
  return out;
}

Faults CheckName(NameRule rule, std::string_view name) {
  switch (rule) {
    case NameRule::kSubdomain:
      return rules::ValidateDns1123Subdomain(name);
    case NameRule::kLabel:
      return rules::ValidateDns1123Label(name);
    case NameRule::kPathSegment:
      return rules::ValidatePathSegment(name);
    case NameRule::kNone:
      return {};
  }
  return {};
}

Faults CheckNamePrefix(NameRule rule, std::string_view prefix) {
  return CheckName(
      rule, rule == NameRule::kPathSegment ? std::string(prefix) : rules::MaskTrailingDash(prefix));
}

}  // namespace kcm::devcluster::kinds
