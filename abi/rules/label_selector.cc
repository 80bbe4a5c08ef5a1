// SPDX-License-Identifier: Apache-2.0
// Requirements: checking, matching, printing; selectors from objects.
#include "kcm/rules/label_selector.h"

#include <algorithm>
#include <charconv>

#include "kcm/rules/decimal_int64.h"
#include "kcm/rules/go_quote.h"
#include "kcm/rules/name_validation.h"

namespace kcm::rules {
namespace {

std::string InvalidValue(std::string_view field, std::string_view value, std::string_view detail) {
  std::string out(field);
  out += ": Invalid value: ";
  out += GoQuote(value);
  out += ": ";
  return out += detail;
}

// `[]` or `["a","b"]`, as the server shows a list of values.
std::string ListText(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& v : values) {
    if (out.size() > 1) out += ",";
    out += GoQuote(v);
  }
  return out + "]";
}

// The problem with the number of values, empty when there is none.
std::string CountProblem(SelectorOperator op, const std::vector<std::string>& values) {
  const auto bad = [&](const char* detail) {
    return "values: Invalid value: " + ListText(values) + ": " + detail;
  };
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      return values.empty() ? bad("for 'in', 'notin' operators, values set can't be empty") : "";
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
    case SelectorOperator::kNotEquals:
      return values.size() != 1 ? bad("exact-match compatibility requires one single value") : "";
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return values.empty() ? "" : bad("values set must be empty for exists and does not exist");
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      if (values.size() != 1) return bad("for 'Gt', 'Lt' operators, exactly one value is required");
      if (!ParseInt64(values[0])) {
        return InvalidValue("values[0]", values[0],
                            "for 'Gt', 'Lt' operators, the value must be an integer");
      }
      return "";
  }
  return "";
}

std::optional<SelectorOperator> OperatorNamed(std::string_view name) {
  if (name == "In") return SelectorOperator::kIn;
  if (name == "NotIn") return SelectorOperator::kNotIn;
  if (name == "Exists") return SelectorOperator::kExists;
  if (name == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  return std::nullopt;
}

std::optional<std::string_view> LabelIn(Node labels, std::string_view key) {
  const Node value = labels.Get(key);
  // A null in a map of strings is the empty string to the API.
  if (value.kind() == Kind::kAbsent) return std::nullopt;
  return value.String();
}

}  // namespace

Result<SelectorRequirement> MakeRequirement(std::string_view key, SelectorOperator op,
                                            std::vector<std::string> values) {
  std::vector<std::string> problems;
  if (const Problems p = ValidateQualifiedName(key); !p.empty()) {
    problems.push_back(InvalidValue("key", key, JoinProblems(p)));
  }
  if (std::string p = CountProblem(op, values); !p.empty()) problems.push_back(std::move(p));
  for (size_t i = 0; i < values.size(); ++i) {
    if (const Problems p = ValidateLabelValue(values[i]); !p.empty()) {
      const std::string field = "values[" + std::to_string(i) + "][" + std::string(key) + "]";
      problems.push_back(InvalidValue(field, values[i], JoinProblems(p)));
    }
  }
  if (problems.size() == 1) return MakeError(Code::kInvalid, problems.front());
  if (!problems.empty()) {
    std::string all = "[";
    for (const std::string& p : problems) all += (all.size() > 1 ? ", " : "") + p;
    return MakeError(Code::kInvalid, all + "]");
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return SelectorRequirement{std::string(key), op, std::move(values)};
}

bool SelectorRequirement::Matches(std::optional<std::string_view> value) const {
  const auto listed = [&] { return std::binary_search(values.begin(), values.end(), *value); };
  switch (op) {
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
    case SelectorOperator::kIn:
      return value.has_value() && listed();
    case SelectorOperator::kNotEquals:
    case SelectorOperator::kNotIn:
      return !value.has_value() || !listed();
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value.has_value();
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan: {
      if (!value.has_value() || values.size() != 1) return false;
      const std::optional<int64_t> label = ParseInt64(*value);
      const std::optional<int64_t> bound = ParseInt64(values[0]);
      if (!label || !bound) return false;
      return op == SelectorOperator::kGreaterThan ? *label > *bound : *label < *bound;
    }
  }
  return false;
}

std::string SelectorRequirement::Text() const {
  const auto joined = [&] {
    std::string out;
    for (size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ",") + values[i];
    return out;
  };
  switch (op) {
    case SelectorOperator::kEquals:
      return key + "=" + joined();
    case SelectorOperator::kDoubleEquals:
      return key + "==" + joined();
    case SelectorOperator::kNotEquals:
      return key + "!=" + joined();
    case SelectorOperator::kIn:
      return key + " in (" + joined() + ")";
    case SelectorOperator::kNotIn:
      return key + " notin (" + joined() + ")";
    case SelectorOperator::kExists:
      return key;
    case SelectorOperator::kDoesNotExist:
      return "!" + key;
    case SelectorOperator::kGreaterThan:
      return key + ">" + joined();
    case SelectorOperator::kLessThan:
      return key + "<" + joined();
  }
  return key;
}

LabelSelector::LabelSelector(bool nothing, std::vector<SelectorRequirement> requirements)
    : nothing_(nothing), requirements_(std::move(requirements)) {
  std::stable_sort(requirements_.begin(), requirements_.end(),
                   [](const auto& x, const auto& y) { return x.key < y.key; });
}

Result<LabelSelector> LabelSelector::FromObject(Node selector) {
  if (!selector.Has()) return Nothing();
  std::vector<SelectorRequirement> requirements;
  for (const auto& [key, value] : selector.Get("matchLabels").Entries()) {
    Result<SelectorRequirement> r =
        MakeRequirement(key, SelectorOperator::kEquals, {std::string(value.String())});
    if (!r.ok()) return r.error();
    requirements.push_back(std::move(*r));
  }
  for (const Node expression : selector.Get("matchExpressions").Items()) {
    const std::string_view name = expression.Get("operator").String();
    const std::optional<SelectorOperator> op = OperatorNamed(name);
    if (!op) {
      return MakeError(Code::kInvalid, GoQuote(name) + " is not a valid label selector operator");
    }
    std::vector<std::string> values;
    for (const Node v : expression.Get("values").Items()) values.emplace_back(v.String());
    Result<SelectorRequirement> r =
        MakeRequirement(expression.Get("key").String(), *op, std::move(values));
    if (!r.ok()) return r.error();
    requirements.push_back(std::move(*r));
  }
  return LabelSelector(false, std::move(requirements));
}

LabelSelector LabelSelector::FromMap(Node labels) {
  std::vector<SelectorRequirement> requirements;
  for (const auto& [key, value] : labels.Entries()) {
    requirements.push_back(
        {std::string(key), SelectorOperator::kEquals, {std::string(value.String())}});
  }
  return LabelSelector(false, std::move(requirements));
}

bool LabelSelector::Matches(Node labels) const {
  return MatchesWith([&](std::string_view key) { return LabelIn(labels, key); });
}

std::optional<std::string_view> LabelSelector::RequiredValue(std::string_view key) const {
  for (const SelectorRequirement& r : requirements_) {
    const bool exact = r.op == SelectorOperator::kEquals ||
                       r.op == SelectorOperator::kDoubleEquals || r.op == SelectorOperator::kIn;
    if (exact && r.key == key && r.values.size() == 1) return r.values[0];
  }
  return std::nullopt;
}

std::string LabelSelector::Text() const {
  std::string out;
  for (const SelectorRequirement& r : requirements_) {
    if (!out.empty()) out += ",";
    out += r.Text();
  }
  return out;
}

}  // namespace kcm::rules
