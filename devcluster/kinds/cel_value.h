// SPDX-License-Identifier: Apache-2.0
// Value: what a CEL expression works on. Objects of the API are looked at in place; an error is a
// value too, so that `&&`, `||` and macros can ignore it as the language says.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "devcluster/api/strategy.h"
#include "kcm/rules/quantity.h"

namespace kcm::devcluster::kinds::cel {

class Value;
using List = std::vector<Value>;
struct MapEntry;
using Map = std::vector<MapEntry>;

// A value type; thread-safe as any value. Values made with OfJson point into that Json, which must
// outlive them.
class Value {
 public:
  enum class Type : uint8_t {
    kError,
    kNull,
    kBool,
    kInt,
    kUint,
    kDouble,
    kString,
    kBytes,
    kList,
    kMap,
    kTimestamp,  // nanoseconds since 1970
    kDuration,   // nanoseconds
    kQuantity,
    kType,      // the text is the type's name
    kOptional,  // of nothing or one value
  };

  Value() = default;  // null
  static Value Null() { return {}; }
  static Value Fail(std::string message);
  static Value Bool(bool v);
  static Value Int(int64_t v);
  static Value Uint(uint64_t v);
  static Value Double(double v);
  static Value String(std::string v);
  static Value Bytes(std::string v);
  static Value Timestamp(int64_t nanos);
  static Value Duration(int64_t nanos);
  static Value Of(rules::Quantity q);
  static Value TypeNamed(std::string name);
  static Value Of(List items);
  static Value Of(Map entries);
  static Value None();
  static Value Some(Value v);
  static Value OfJson(const Json& json);

  Type type() const { return type_; }
  bool Is(Type t) const { return type_ == t; }
  bool failed() const { return type_ == Type::kError; }
  bool IsNumber() const { return Is(Type::kInt) || Is(Type::kUint) || Is(Type::kDouble); }
  // The payload. REQUIRES: of that type (text: string, bytes, error, type; whole: int, timestamp,
  // duration).
  bool truth() const { return std::get<bool>(data_); }
  int64_t whole() const { return std::get<int64_t>(data_); }
  uint64_t natural() const { return std::get<uint64_t>(data_); }
  double real() const { return std::get<double>(data_); }
  const std::string& text() const { return *std::get<std::shared_ptr<const std::string>>(data_); }
  const rules::Quantity& quantity() const {
    return *std::get<std::shared_ptr<const rules::Quantity>>(data_);
  }
  // Of an optional: nullopt for optional.none().
  std::optional<Value> held() const;

  // Lists and maps. REQUIRES: of that type; `i` < size().
  size_t size() const;
  Value At(size_t i) const;                          // of a list
  List Keys() const;                                 // of a map, in its order
  std::optional<Value> Get(const Value& key) const;  // of a map

  std::string TypeName() const;  // "int", "google.protobuf.Timestamp", ...

 private:
  using Data =
      std::variant<std::monostate, bool, int64_t, uint64_t, double,
                   std::shared_ptr<const std::string>, std::shared_ptr<const rules::Quantity>,
                   std::shared_ptr<const List>, std::shared_ptr<const Map>, const Json*>;
  Value(Type type, Data data) : type_(type), data_(std::move(data)) {}

  Type type_ = Type::kNull;
  Data data_;
};

struct MapEntry {
  Value key, value;
};

// Equality of the language: numbers by their value whatever their type; else false for different
// types. `*cost` grows with what was looked at.
bool Equal(const Value& x, const Value& y, uint64_t* cost);
// < 0, 0, > 0; nullopt when the two have no order.
std::optional<int> Compare(const Value& x, const Value& y);

}  // namespace kcm::devcluster::kinds::cel
