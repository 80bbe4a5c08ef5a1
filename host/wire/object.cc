// SPDX-License-Identifier: Apache-2.0
// Reads the flat format.
#include "host/wire/object.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "host/wire/flat.h"
#include "host/wire/interner.h"
#include "host/wire/static_strings.h"

namespace kcm::host::wire {
namespace {

using rules::Kind;

const uint8_t* Base(const Object* o) { return reinterpret_cast<const uint8_t*>(o + 1); }

bool Immediate(uint32_t pos) { return (pos & flat::kImmediate) != 0; }

Kind ImmediateKind(uint32_t pos) {
  if (pos >= flat::kStatic) return Kind::kString;
  switch (pos) {
    case flat::kNull:
      return Kind::kNull;
    case flat::kFalse:
    case flat::kTrue:
      return Kind::kBool;
    case flat::kEmptyArray:
      return Kind::kArray;
    case flat::kEmptyObject:
      return Kind::kObject;
    default:
      return Kind::kInt;
  }
}

int64_t TruncatedToInt(double d) {
  if (std::isnan(d)) return 0;
  if (d >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  if (d <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(d);
}

// The container at a value, or one of count 0.
flat::Container ContainerOf(const Object* o, uint32_t pos) {
  return o == nullptr || Immediate(pos) ? flat::Container() : flat::ContainerAt(Base(o), pos);
}

Value FieldOf(const Object* o, const flat::Container& c, uint32_t id) {
  for (uint32_t i = 0; i < c.count; ++i) {
    if (flat::Load16(c.ids + size_t{i} * 2) == id) return Value(o, c.Slot(i));
  }
  return Value();
}

Value KeyOf(const Object* o, const flat::Container& c, std::string_view key) {
  size_t low = 0, high = c.count;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    const int order = Value(o, c.Slot(mid * 2)).String().compare(key);
    if (order == 0) return Value(o, c.Slot(mid * 2 + 1));
    (order < 0 ? low : high) = order < 0 ? mid + 1 : mid;
  }
  return Value();
}

// Values as nodes: a = the Object, b = the position.
Value Of(uint64_t a, uint64_t b) {
  return Value(reinterpret_cast<const Object*>(a), static_cast<uint32_t>(b));
}

constexpr rules::NodeOps kOps = {
    [](uint64_t a, uint64_t b) { return Of(a, b).kind(); },
    [](uint64_t a, uint64_t b, std::string_view name) { return Of(a, b).Member(name).AsNode(); },
    [](uint64_t a, uint64_t b) { return Of(a, b).size(); },
    [](uint64_t a, uint64_t b, size_t i) { return Of(a, b).At(i).AsNode(); },
    [](uint64_t a, uint64_t b, size_t i) {
      const auto [key, value] = Of(a, b).Entry(i);
      return std::pair<std::string_view, rules::Node>(key, value.AsNode());
    },
    [](uint64_t a, uint64_t b) { return Of(a, b).String(); },
    [](uint64_t a, uint64_t b) { return Of(a, b).Int(); },
    [](uint64_t a, uint64_t b) { return Of(a, b).Real(); },
    [](uint64_t a, uint64_t b) { return Of(a, b).Bool(); },
};

bool EqualNumbers(Value x, Value y) {
  if (x.kind() == Kind::kInt && y.kind() == Kind::kInt) return x.Int() == y.Int();
  if (x.IsUnsigned() && y.IsUnsigned()) return x.Unsigned() == y.Unsigned();
  return x.Real() == y.Real() || (std::isnan(x.Real()) && std::isnan(y.Real()));
}

bool IsNumber(Kind kind) { return kind == Kind::kInt || kind == Kind::kDouble; }

bool EqualMembers(Value x, Value y) {
  for (size_t i = 0; i < x.size(); ++i) {
    const auto [key, value] = x.Entry(i);
    const Value other = y.Member(key);
    if (other.kind() == Kind::kAbsent || !DeepEqual(value, other)) return false;
  }
  return true;
}

}  // namespace

Kind Value::kind() const {
  if (o_ == nullptr) return Kind::kAbsent;
  if (Immediate(pos_)) return ImmediateKind(pos_);
  const uint8_t tag = Base(o_)[pos_];
  if (tag <= flat::kLongString) return Kind::kString;
  if (tag == flat::kInt) return Kind::kInt;
  if (tag < flat::kArray) return Kind::kDouble;
  return tag < flat::kFields ? Kind::kArray : Kind::kObject;
}

Value Value::Field(uint32_t field_id) const {
  const flat::Container c = ContainerOf(o_, pos_);
  if (c.shape == flat::kFields) return FieldOf(o_, c, field_id);
  if (c.shape == flat::kMap) return KeyOf(o_, c, FieldName(field_id));
  return Value();
}

Value Value::Member(std::string_view name) const {
  const flat::Container c = ContainerOf(o_, pos_);
  if (c.shape == flat::kFields) {
    const uint32_t id = FieldId(name);
    return id == 0 ? Value() : FieldOf(o_, c, id);
  }
  return c.shape == flat::kMap ? KeyOf(o_, c, name) : Value();
}

size_t Value::size() const { return ContainerOf(o_, pos_).count; }

Value Value::At(size_t index) const {
  const flat::Container c = ContainerOf(o_, pos_);
  return c.shape == flat::kArray && index < c.count ? Value(o_, c.Slot(index)) : Value();
}

std::pair<std::string_view, Value> Value::Entry(size_t index) const {
  const flat::Container c = ContainerOf(o_, pos_);
  if (index >= c.count) return {};
  if (c.shape == flat::kFields) {
    return {StaticString(flat::Load16(c.ids + index * 2)), Value(o_, c.Slot(index))};
  }
  if (c.shape != flat::kMap) return {};
  return {Value(o_, c.Slot(index * 2)).String(), Value(o_, c.Slot(index * 2 + 1))};
}

std::string_view Value::String() const {
  if (o_ == nullptr) return {};
  if (!Immediate(pos_)) return flat::StringAt(Base(o_), pos_);
  if (pos_ >= flat::kDictionary) return o_->dictionary_->At(pos_ - flat::kDictionary);
  return pos_ >= flat::kStatic ? StaticString(pos_ - flat::kStatic) : std::string_view();
}

int64_t Value::Int() const {
  if (o_ == nullptr) return 0;
  if (Immediate(pos_)) {
    return ImmediateKind(pos_) == Kind::kInt ? int64_t{pos_} - int64_t{flat::kIntZero} : 0;
  }
  const uint8_t* p = Base(o_) + pos_;
  if (*p == flat::kInt) {
    ++p;
    const uint64_t v = flat::Varint(&p);
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }
  return *p == flat::kDouble || *p == flat::kUnsigned ? TruncatedToInt(Real()) : 0;
}

bool Value::IsUnsigned() const {
  return o_ != nullptr && !Immediate(pos_) && Base(o_)[pos_] == flat::kUnsigned;
}

uint64_t Value::Unsigned() const {
  if (!IsUnsigned()) return static_cast<uint64_t>(Int());
  const uint8_t* p = Base(o_) + pos_ + 1;
  return flat::Varint(&p);
}

double Value::Real() const {
  if (o_ != nullptr && !Immediate(pos_)) {
    const uint8_t* p = Base(o_) + pos_;
    if (*p == flat::kUnsigned) return static_cast<double>(Unsigned());
    if (*p == flat::kDouble) {
      double d = 0;
      std::memcpy(&d, p + 1, sizeof d);
      return d;
    }
  }
  return static_cast<double>(Int());
}

bool Value::Bool() const { return o_ != nullptr && pos_ == flat::kTrue; }

rules::Node Value::AsNode() const {
  return o_ == nullptr ? rules::Node() : rules::Node(&kOps, reinterpret_cast<uint64_t>(o_), pos_);
}

std::string_view Object::Namespace() const {
  return namespace_ == 0 ? std::string_view() : Value(this, namespace_).String();
}
std::string_view Object::Name() const {
  return name_ == 0 ? std::string_view() : Value(this, name_).String();
}
std::string_view Object::Uid() const {
  return uid_ == 0 ? std::string_view() : Value(this, uid_).String();
}
std::string_view Object::ResourceVersionText() const {
  return resource_version_ == 0 ? std::string_view() : Value(this, resource_version_).String();
}

uint64_t Object::ResourceVersion() const {
  const std::string_view text = ResourceVersionText();
  uint64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() ? v : 0;
}

bool Object::whole() const { return (flags_ & flat::kFlagWhole) != 0; }

size_t Object::bytes() const { return sizeof(Object) + size_; }

std::string Object::Key() const {
  std::string key(Namespace());
  if (!key.empty()) key += '/';
  key += Name();
  return key;
}

void Object::Ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }

void Object::Unref() const {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (dictionary_ != nullptr) dictionary_->Unref();
  this->~Object();
  ::operator delete(const_cast<Object*>(this));
}

bool DeepEqual(Value x, Value y) {
  if (x.object() == y.object() && x.pos() == y.pos()) return true;
  const Kind kind = x.kind();
  if (IsNumber(kind) && IsNumber(y.kind())) return EqualNumbers(x, y);
  if (kind != y.kind() || x.size() != y.size()) return false;
  switch (kind) {
    case Kind::kBool:
      return x.Bool() == y.Bool();
    case Kind::kString:
      return x.String() == y.String();
    case Kind::kObject:
      return EqualMembers(x, y);
    case Kind::kArray:
      for (size_t i = 0; i < x.size(); ++i) {
        if (!DeepEqual(x.At(i), y.At(i))) return false;
      }
      return true;
    default:
      return true;
  }
}

}  // namespace kcm::host::wire
