// SPDX-License-Identifier: Apache-2.0
// Character rules of names.
#include "kcm/rules/name_validation.h"

#include <algorithm>

namespace kcm::rules {
namespace {

constexpr size_t kMaxSubdomain = 253;
constexpr size_t kMaxLabel = 63;

constexpr char kSubdomainText[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr char kLabelText[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr char kLabel1035Text[] =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr char kQualifiedPart[] =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr char kLabelValueText[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr char kConfigKeyText[] =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', "
    " or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

std::string TooLong(size_t most) {
  return "must be no more than " + std::to_string(most) + " characters";
}

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlphanumeric(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

bool IsLabelShaped(std::string_view s) {
  return !s.empty() && IsLowerOrDigit(s.front()) && IsLowerOrDigit(s.back()) &&
         std::all_of(s.begin(), s.end(), [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsSubdomainShaped(std::string_view s) {
  for (;;) {
    const size_t dot = s.find('.');
    if (!IsLabelShaped(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool IsQualifiedShaped(std::string_view s) {
  return !s.empty() && IsAlphanumeric(s.front()) && IsAlphanumeric(s.back()) &&
         std::all_of(s.begin(), s.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

Problems ValidateDns1123Subdomain(std::string_view value) {
  Problems problems;
  if (value.size() > kMaxSubdomain) problems.push_back(TooLong(kMaxSubdomain));
  if (!IsSubdomainShaped(value)) problems.emplace_back(kSubdomainText);
  return problems;
}

Problems ValidateDns1123Label(std::string_view value) {
  Problems problems;
  if (value.size() > kMaxLabel) problems.push_back(TooLong(kMaxLabel));
  if (!IsLabelShaped(value)) {
    // A name that only has dots too many gets the short answer.
    problems.emplace_back(IsSubdomainShaped(value) ? "must not contain dots" : kLabelText);
  }
  return problems;
}

Problems ValidateDns1035Label(std::string_view value) {
  Problems problems;
  if (value.size() > kMaxLabel) problems.push_back(TooLong(kMaxLabel));
  const bool letter_first = !value.empty() && value.front() >= 'a' && value.front() <= 'z';
  if (!letter_first || !IsLabelShaped(value)) problems.emplace_back(kLabel1035Text);
  return problems;
}

Problems ValidatePathSegment(std::string_view value) {
  Problems problems;
  if (value == "." || value == "..") {
    problems.push_back("may not be '" + std::string(value) + "'");
    return problems;
  }
  for (const char c : {'/', '%'}) {
    if (value.find(c) != std::string_view::npos) {
      problems.push_back(std::string("may not contain '") + c + "'");
    }
  }
  return problems;
}

Problems ValidateQualifiedName(std::string_view value) {
  Problems problems;
  const size_t slash = value.find('/');
  std::string_view name = value;
  if (slash != std::string_view::npos) {
    if (value.find('/', slash + 1) != std::string_view::npos) {
      problems.push_back(std::string("a qualified name ") + kQualifiedPart +
                         " with an optional DNS subdomain prefix and '/' (e.g. "
                         "'example.com/MyName')");
      return problems;
    }
    const std::string_view prefix = value.substr(0, slash);
    name = value.substr(slash + 1);
    if (prefix.empty()) {
      problems.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& p : ValidateDns1123Subdomain(prefix)) {
        problems.push_back("prefix part " + p);
      }
    }
  }
  if (name.empty()) {
    problems.emplace_back("name part must be non-empty");
  } else if (name.size() > kMaxLabel) {
    problems.push_back("name part " + TooLong(kMaxLabel));
  }
  if (!IsQualifiedShaped(name)) problems.push_back(std::string("name part ") + kQualifiedPart);
  return problems;
}

Problems ValidateLabelValue(std::string_view value) {
  Problems problems;
  if (value.size() > kMaxLabel) problems.push_back(TooLong(kMaxLabel));
  if (!value.empty() && !IsQualifiedShaped(value)) problems.emplace_back(kLabelValueText);
  return problems;
}

Problems ValidateConfigMapKey(std::string_view value) {
  Problems problems;
  if (value.size() > kMaxSubdomain) problems.push_back(TooLong(kMaxSubdomain));
  const bool shaped = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
  });
  if (!shaped) problems.emplace_back(kConfigKeyText);
  if (value == "." || value == "..") {
    problems.push_back("must not be '" + std::string(value) + "'");
  } else if (value.starts_with("..")) {
    problems.emplace_back("must not start with '..'");
  }
  return problems;
}

std::string MaskTrailingDash(std::string_view generate_name) {
  std::string out(generate_name);
  if (out.size() > 1 && out.back() == '-') out.back() = 'a';
  return out;
}

std::string JoinProblems(const Problems& problems) {
  std::string out;
  for (const std::string& p : problems) {
    if (!out.empty()) out += "; ";
    out += p;
  }
  return out;
}

}  // namespace kcm::rules
