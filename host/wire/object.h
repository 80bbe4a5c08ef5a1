// SPDX-License-Identifier: Apache-2.0
// Object: one version of one API object, immutable, one contiguous allocation, counted by
// reference. What caches and devcluster's store hold. managedFields are stored only when decoded
// with keep_managed_fields (devcluster).
//
// The format is hidden: read through Value (or rules::Node via Value::AsNode()). Format in
// docs/decisions/0002.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kcm/rules/node.h"

namespace kcm::host::wire {

class Dictionary;
class Object;

// Counted pointer to an immutable Object. Thread-safe like shared_ptr: distinct ObjectPtr may be
// used from any thread.
class ObjectPtr {
 public:
  ObjectPtr() = default;
  ObjectPtr(const ObjectPtr& o);
  ObjectPtr(ObjectPtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ObjectPtr& operator=(ObjectPtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~ObjectPtr();
  const Object* get() const { return p_; }
  const Object& operator*() const { return *p_; }
  const Object* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const ObjectPtr& x, const ObjectPtr& y) { return x.p_ == y.p_; }
  // Takes over one reference / gives one up (for handles that cross the ABI).
  static ObjectPtr Adopt(const Object* p) {
    ObjectPtr r;
    r.p_ = p;
    return r;
  }
  const Object* Release() { return std::exchange(p_, nullptr); }

 private:
  const Object* p_ = nullptr;
};

// A view of one value inside an Object: 16 bytes, lives as long as the Object. `p == nullptr` is
// "absent".
class Value {
 public:
  constexpr Value() = default;
  constexpr Value(const Object* o, uint32_t pos) : o_(o), pos_(pos) {}

  rules::Kind kind() const;
  Value Member(std::string_view name) const;  // of an object; absent otherwise
  Value Field(uint32_t field_id) const;       // the same by id from FieldId(): no string comparison
  size_t size() const;
  Value At(size_t index) const;
  std::pair<std::string_view, Value> Entry(
      size_t index) const;  // in canonical order: schema order, maps by key
  std::string_view String() const;
  int64_t Int() const;
  double Real() const;
  bool Bool() const;
  // A whole number above the range of int64: of kind kDouble, kept exactly.
  bool IsUnsigned() const;
  uint64_t Unsigned() const;
  bool Has() const { return kind() > rules::Kind::kNull; }

  rules::Node AsNode() const;
  const Object* object() const { return o_; }
  uint32_t pos() const { return pos_; }

 private:
  const Object* o_ = nullptr;
  uint32_t pos_ = 0;
};

// Id of a member name, equal for the whole process and every build of one release; 0 when no
// built-in kind has such a member (then use Member(name)). A constant table: no state.
uint32_t FieldId(std::string_view name);
std::string_view FieldName(uint32_t id);

class Object {
 public:
  // Identity, read once at decode time: O(1). Empty when absent. Live as long as the Object.
  std::string_view Namespace() const;
  std::string_view Name() const;
  std::string_view Uid() const;
  std::string_view ResourceVersionText() const;
  uint64_t ResourceVersion() const;  // 0 when absent or not a number
  Value Root() const { return Value(this, RootPos()); }
  rules::Node Node() const { return Root().AsNode(); }
  // False when a mask dropped anything or an unknown protobuf field was skipped: such an object
  // never becomes a PUT body.
  bool whole() const;
  // Bytes of the allocation, header included.
  size_t bytes() const;
  // "namespace/name", or "name" for cluster scope.
  std::string Key() const;

  void Ref() const;
  void Unref() const;

 private:
  friend class ObjectBuilder;
  friend class Value;
  Object() = default;
  uint32_t RootPos() const { return root_; }
  // The bytes follow this header in the same allocation (flat.h). Positions are those of Value.
  mutable std::atomic<uint32_t> refs_{1};
  uint32_t size_ = 0;  // bytes behind the header
  Dictionary* dictionary_ =
      nullptr;  // counted; what dictionary ids in the bytes mean, nullptr without any
  uint32_t root_ = 0;
  uint32_t namespace_ = 0;  // string values; 0 (of an immediate null) when absent
  uint32_t name_ = 0;
  uint32_t uid_ = 0;
  uint32_t resource_version_ = 0;
  uint32_t flags_ = 0;
};

inline ObjectPtr::ObjectPtr(const ObjectPtr& o) : p_(o.p_) {
  if (p_ != nullptr) p_->Ref();
}
inline ObjectPtr::~ObjectPtr() {
  if (p_ != nullptr) p_->Unref();
}

// True when both hold equal values (object members in any order; absent != null).
bool DeepEqual(Value x, Value y);

}  // namespace kcm::host::wire
