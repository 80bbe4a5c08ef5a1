// SPDX-License-Identifier: Apache-2.0
// Values, equality and order (cel_value.h).
#include "devcluster/kinds/cel_value.h"

#include <cmath>
#include <limits>

namespace kcm::devcluster::kinds::cel {

namespace {

using Type = Value::Type;

template <class T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : a == b ? 0 : 1;
}

// Exact comparison of numbers of different types; nullopt with a NaN.
std::optional<int> CompareNumbers(const Value& x, const Value& y) {
  if (x.Is(Type::kDouble) || y.Is(Type::kDouble)) {
    const auto real = [](const Value& v) -> long double {
      if (v.Is(Type::kInt)) return static_cast<long double>(v.whole());
      if (v.Is(Type::kUint)) return static_cast<long double>(v.natural());
      return static_cast<long double>(v.real());
    };
    const long double a = real(x), b = real(y);
    if (std::isnan(a) || std::isnan(b)) return std::nullopt;
    return Order(a, b);
  }
  if (x.Is(Type::kInt) && y.Is(Type::kInt)) return Order(x.whole(), y.whole());
  if (x.Is(Type::kUint) && y.Is(Type::kUint)) return Order(x.natural(), y.natural());
  if (x.Is(Type::kInt))
    return x.whole() < 0 ? -1 : Order(static_cast<uint64_t>(x.whole()), y.natural());
  return y.whole() < 0 ? 1 : Order(x.natural(), static_cast<uint64_t>(y.whole()));
}

bool EqualLists(const Value& x, const Value& y, uint64_t* cost) {
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Equal(x.At(i), y.At(i), cost)) return false;
  }
  return true;
}

bool EqualMaps(const Value& x, const Value& y, uint64_t* cost) {
  if (x.size() != y.size()) return false;
  for (const Value& key : x.Keys()) {
    const std::optional<Value> other = y.Get(key);
    if (!other || !Equal(*x.Get(key), *other, cost)) return false;
  }
  return true;
}

template <class T>
std::shared_ptr<const T> Share(T v) {
  return std::make_shared<const T>(std::move(v));
}

}  // namespace

Value Value::Fail(std::string message) { return {Type::kError, Share(std::move(message))}; }
Value Value::Bool(bool v) { return {Type::kBool, v}; }
Value Value::Int(int64_t v) { return {Type::kInt, v}; }
Value Value::Uint(uint64_t v) { return {Type::kUint, v}; }
Value Value::Double(double v) { return {Type::kDouble, v}; }
Value Value::String(std::string v) { return {Type::kString, Share(std::move(v))}; }
Value Value::Bytes(std::string v) { return {Type::kBytes, Share(std::move(v))}; }
Value Value::Timestamp(int64_t nanos) { return {Type::kTimestamp, nanos}; }
Value Value::Duration(int64_t nanos) { return {Type::kDuration, nanos}; }
Value Value::Of(rules::Quantity q) { return {Type::kQuantity, Share(std::move(q))}; }
Value Value::TypeNamed(std::string name) { return {Type::kType, Share(std::move(name))}; }
Value Value::Of(List items) { return {Type::kList, Share(std::move(items))}; }
Value Value::Of(Map entries) { return {Type::kMap, Share(std::move(entries))}; }
Value Value::None() { return {Type::kOptional, Share(List{})}; }
Value Value::Some(Value v) { return {Type::kOptional, Share(List{std::move(v)})}; }

Value Value::OfJson(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return Bool(json.get<bool>());
    case Json::value_t::string:
      return String(json.get<std::string>());
    case Json::value_t::number_integer:
      return Int(json.get<int64_t>());
    case Json::value_t::number_unsigned: {
      const auto n = json.get<uint64_t>();
      if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return Double(static_cast<double>(n));
      return Int(static_cast<int64_t>(n));
    }
    case Json::value_t::number_float:
      return Double(json.get<double>());
    case Json::value_t::array:
      return {Type::kList, &json};
    case Json::value_t::object:
      return {Type::kMap, &json};
    default:
      return Null();
  }
}

std::optional<Value> Value::held() const {
  const List& list = *std::get<std::shared_ptr<const List>>(data_);
  if (list.empty()) return std::nullopt;
  return list[0];
}

size_t Value::size() const {
  if (const auto* json = std::get_if<const Json*>(&data_)) return (*json)->size();
  if (const auto* list = std::get_if<std::shared_ptr<const List>>(&data_)) return (*list)->size();
  return std::get<std::shared_ptr<const Map>>(data_)->size();
}

Value Value::At(size_t i) const {
  if (const auto* json = std::get_if<const Json*>(&data_)) return OfJson((**json)[i]);
  return (*std::get<std::shared_ptr<const List>>(data_))[i];
}

List Value::Keys() const {
  List out;
  if (const auto* json = std::get_if<const Json*>(&data_)) {
    for (const auto& [key, member] : (*json)->items()) out.push_back(String(key));
  } else {
    for (const MapEntry& entry : *std::get<std::shared_ptr<const Map>>(data_))
      out.push_back(entry.key);
  }
  return out;
}

std::optional<Value> Value::Get(const Value& key) const {
  if (const auto* json = std::get_if<const Json*>(&data_)) {
    if (!key.Is(Type::kString)) return std::nullopt;
    const auto it = (*json)->find(key.text());
    if (it == (*json)->end()) return std::nullopt;
    return OfJson(*it);
  }
  uint64_t cost = 0;
  for (const MapEntry& entry : *std::get<std::shared_ptr<const Map>>(data_)) {
    if (Equal(entry.key, key, &cost)) return entry.value;
  }
  return std::nullopt;
}

std::string Value::TypeName() const {
  switch (type_) {
    case Type::kError:
      return "error";
    case Type::kNull:
      return "null_type";
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kUint:
      return "uint";
    case Type::kDouble:
      return "double";
    case Type::kString:
      return "string";
    case Type::kBytes:
      return "bytes";
    case Type::kList:
      return "list";
    case Type::kMap:
      return "map";
    case Type::kTimestamp:
      return "google.protobuf.Timestamp";
    case Type::kDuration:
      return "google.protobuf.Duration";
    case Type::kQuantity:
      return "kubernetes.Quantity";
    case Type::kType:
      return "type";
    case Type::kOptional:
      return "optional_type";
  }
  return "error";
}

bool Equal(const Value& x, const Value& y, uint64_t* cost) {
  ++*cost;
  if (x.IsNumber() && y.IsNumber()) return CompareNumbers(x, y) == 0;
  if (x.type() != y.type()) return false;
  switch (x.type()) {
    case Type::kNull:
      return true;
    case Type::kBool:
      return x.truth() == y.truth();
    case Type::kString:
    case Type::kBytes:
    case Type::kType:
      *cost += x.text().size() / 10;
      return x.text() == y.text();
    case Type::kTimestamp:
    case Type::kDuration:
      return x.whole() == y.whole();
    case Type::kQuantity:
      return x.quantity() == y.quantity();
    case Type::kList:
      return EqualLists(x, y, cost);
    case Type::kMap:
      return EqualMaps(x, y, cost);
    case Type::kOptional: {
      const std::optional<Value> a = x.held(), b = y.held();
      return a.has_value() == b.has_value() && (!a || Equal(*a, *b, cost));
    }
    default:
      return false;
  }
}

std::optional<int> Compare(const Value& x, const Value& y) {
  if (x.IsNumber() && y.IsNumber()) return CompareNumbers(x, y);
  if (x.type() != y.type()) return std::nullopt;
  switch (x.type()) {
    case Type::kBool:
      return Order(x.truth(), y.truth());
    case Type::kString:
    case Type::kBytes:
      return Order(x.text(), y.text());
    case Type::kTimestamp:
    case Type::kDuration:
      return Order(x.whole(), y.whole());
    default:
      return std::nullopt;
  }
}

}  // namespace kcm::devcluster::kinds::cel
