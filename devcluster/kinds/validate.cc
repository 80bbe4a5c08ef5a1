// SPDX-License-Identifier: Apache-2.0
// Dispatch of validation, and the parts that kinds share.
#include "devcluster/kinds/validate.h"

#include <algorithm>
#include <limits>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "kcm/rules/name_validation.h"

namespace kcm::devcluster::kinds {

namespace {

enum class Family : uint8_t { kNone, kPod, kWorkload, kBatch, kService, kCore, kStorage, kCluster };

Family FamilyOf(const KindRow& row) {
  const std::string_view r = row.resource;
  if (r == "pods") return Family::kPod;
  if (r == "services") return Family::kService;
  if (row.group == "apps" || r == "replicationcontrollers") return Family::kWorkload;
  if (row.group == "batch") return Family::kBatch;
  if (row.group == "storage.k8s.io" || r == "persistentvolumes" || r == "persistentvolumeclaims")
    return Family::kStorage;
  if (row.group.empty()) return Family::kCore;
  return Family::kCluster;
}

}  // namespace

FieldErrors ValidateCreate(const Validation& v, const Json& object) {
  FieldErrors out = ValidateMetadata(object, v.row.names, v.schema);
  switch (FamilyOf(v.row)) {
    case Family::kPod:
      Append(out, ValidatePod(v, object));
      break;
    case Family::kService:
      Append(out, ValidateService(v, object));
      break;
    case Family::kWorkload:
      Append(out, ValidateWorkload(v, object));
      break;
    case Family::kBatch:
      Append(out, ValidateBatch(v, object));
      break;
    case Family::kStorage:
      Append(out, ValidateStorage(v, object));
      break;
    case Family::kCore:
      Append(out, ValidateCore(v, object));
      break;
    case Family::kCluster:
      Append(out, ValidateCluster(v, object));
      break;
    case Family::kNone:
      break;
  }
  return out;
}

FieldErrors ValidateUpdate(const Validation& v, const Json& object, const Json& old) {
  FieldErrors out = ValidateMetadataUpdate(object, old, v.schema);
  switch (FamilyOf(v.row)) {
    case Family::kPod:
      Append(out, ValidatePodUpdate(v, object, old));
      break;
    case Family::kService:
      Append(out, ValidateServiceUpdate(v, object, old));
      break;
    case Family::kWorkload:
      Append(out, ValidateWorkloadUpdate(v, object, old));
      break;
    case Family::kBatch:
      Append(out, ValidateBatchUpdate(v, object, old));
      break;
    case Family::kStorage:
      Append(out, ValidateStorageUpdate(v, object, old));
      break;
    case Family::kCore:
      Append(out, ValidateCoreUpdate(v, object, old));
      break;
    case Family::kCluster:
      Append(out, ValidateClusterUpdate(v, object, old));
      break;
    case Family::kNone:
      break;
  }
  return out;
}

void Warn(const RequestInfo& info, std::string text) {
  if (info.warnings != nullptr) info.warnings->push_back(std::move(text));
}

void NonNegative(FieldErrors& out, const Json& object, std::string_view path,
                 const std::string& prefix) {
  const int64_t number = Integer(object, path);
  if (number < 0) {
    out.push_back(InvalidValue(prefix + std::string(path), std::to_string(number),
                               "must be greater than or equal to 0"));
  }
}

void OneOf(FieldErrors& out, const Json& object, std::string_view path,
           const std::vector<std::string>& allowed, const std::string& prefix) {
  const std::string_view value = Text(object, path);
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    out.push_back(NotSupported(prefix + std::string(path), GoQuote(value), allowed));
  }
}

void RequiredText(FieldErrors& out, const Json& object, std::string_view path,
                  const std::string& prefix) {
  if (Text(object, path).empty()) out.push_back(Required(prefix + std::string(path), ""));
}

void Immutable(FieldErrors& out, const Json& object, const Json& old, std::string_view path,
               const Message* message) {
  if (SameMember(object, old, path)) return;
  const Json* now = Find(object, path);
  out.push_back(InvalidValue(std::string(path), now == nullptr ? "null" : Dump(*now, message),
                             "field is immutable"));
}

FieldErrors ValidateLabelSelector(const Json* selector, const std::string& path) {
  FieldErrors out;
  if (selector == nullptr) return out;
  Append(out, ValidateLabels(Find(*selector, "matchLabels"), path + ".matchLabels"));
  const Json& expressions = Items(*selector, "matchExpressions");
  for (size_t i = 0; i < expressions.size(); ++i) {
    const std::string at = path + ".matchExpressions[" + std::to_string(i) + "]";
    const std::string_view op = Text(expressions[i], "operator"), key = Text(expressions[i], "key");
    const Json& values = Items(expressions[i], "values");
    if (op == "In" || op == "NotIn") {
      if (values.empty())
        out.push_back(
            Required(at + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (!values.empty()) {
        out.push_back(ForbiddenField(
            at + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
    } else {
      out.push_back(InvalidValue(at + ".operator", GoQuote(op), "not a valid selector operator"));
    }
    for (const std::string& fault : rules::ValidateQualifiedName(key)) {
      out.push_back(InvalidValue(at + ".key", GoQuote(key), fault));
    }
    for (size_t k = 0; k < values.size(); ++k) {
      const std::string value = values[k].is_string() ? values[k].get<std::string>() : "";
      for (const std::string& fault : rules::ValidateLabelValue(value)) {
        out.push_back(
            InvalidValue(at + ".values[" + std::to_string(k) + "]", GoQuote(value), fault));
      }
    }
  }
  return out;
}

void IntOrPercent(FieldErrors& out, const Json& object, std::string_view path) {
  const Json* value = Find(object, path);
  if (value == nullptr) return;
  if (value->is_number_integer()) return NonNegative(out, object, path);
  const std::string text = value->is_string() ? value->get<std::string>() : "";
  if (!PercentValue(*value)) {
    out.push_back(InvalidValue(
        std::string(path), GoQuote(text),
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
        "'93%', regex used for validation is '[0-9]+%')"));
  }
}

std::optional<int64_t> PercentValue(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_ref<const std::string&>();
  if (text.size() < 2 || text.find_first_not_of("0123456789") != text.size() - 1 ||
      text.back() != '%')
    return std::nullopt;
  int64_t number = 0;
  for (const char c : text.substr(0, text.size() - 1))
    number = std::min<int64_t>(number * 10 + (c - '0'), std::numeric_limits<int32_t>::max());
  return number;
}

void AtMost100Percent(FieldErrors& out, const Json& object, std::string_view path) {
  const Json* value = Find(object, path);
  if (value == nullptr || PercentValue(*value).value_or(0) <= 100) return;
  out.push_back(InvalidValue(std::string(path), value->dump(), "must not be greater than 100%"));
}

}  // namespace kcm::devcluster::kinds
