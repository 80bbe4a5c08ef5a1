// SPDX-License-Identifier: Apache-2.0
// Objects as a plugin sees them: counted references that are read in place through rules::Node.
//
//   std::optional<sdk::WholeRef> rs = cache.Get(kReplicaSets, key);
//   int64_t replicas = rs->Root().Path("spec.replicas").Int(1);
// WholeRef marks an object of which nothing was left out: only such a one can be edited and sent as
// an update.
#pragma once
#include <kcm/object.h>

#include <iterator>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "kcm/rules/node.h"

namespace kcm::sdk {

using Json = nlohmann::json;

inline std::string_view View(kcm_str s) {
  return s.length == 0 ? std::string_view() : std::string_view(s.data, s.length);
}
inline kcm_str Str(std::string_view s) { return kcm_str{s.data(), s.size()}; }

namespace internal {
// The object table of the host that loaded this image. Set before the first create returns; every
// generation has an image of its own, and the table is stateless, so one pointer per image is
// enough.
void SetObjectApi(const kcm_object_api* api);
const kcm_object_api& ObjectApi();
}  // namespace internal

// A Node over a cursor of the host.
rules::Node CursorNode(kcm_cursor at);

// An object as the cache holds it: immutable, shared, read in place. Thread-safe. Keeps one version
// alive: hold it for a reconcile, not for a lifetime.
class ObjectRef {
 public:
  // Takes over one reference. REQUIRES: handle != nullptr.
  explicit ObjectRef(kcm_object* handle) noexcept : handle_(handle) {}
  ObjectRef(ObjectRef&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  ObjectRef& operator=(ObjectRef&& o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ObjectRef(const ObjectRef&) = delete;
  ~ObjectRef() {
    if (handle_ != nullptr) internal::ObjectApi().release(handle_);
  }
  // A reference of one's own to a borrowed handle (of an event).
  static ObjectRef Share(kcm_object* borrowed) {
    internal::ObjectApi().add_ref(borrowed);
    return ObjectRef(borrowed);
  }
  ObjectRef Share() const { return Share(handle_); }

  // Views live as long as *this.
  rules::Node Root() const& { return CursorNode(internal::ObjectApi().root(handle_)); }
  rules::Node Root() const&& = delete;
  rules::Node Get(std::string_view name) const& { return Root().Get(name); }
  std::string_view Namespace() const& { return View(internal::ObjectApi().namespace_of(handle_)); }
  std::string_view Name() const& { return View(internal::ObjectApi().name_of(handle_)); }
  std::string_view Uid() const& { return View(internal::ObjectApi().uid_of(handle_)); }
  std::string_view ResourceVersion() const& {
    return View(internal::ObjectApi().resource_version_of(handle_));
  }
  std::string Key() const;  // "namespace/name" or "name"
  bool IsWhole() const { return internal::ObjectApi().is_whole(handle_) != 0; }
  // Compact JSON text / a tree to edit. A masked object's JSON is good for reading only.
  std::string ToJsonText() const;
  Json ToJson() const;

  kcm_object* handle() const { return handle_; }

 protected:
  kcm_object* handle_;  // nullptr only after a move
};

// An object of a watch without fields, or an answer of the API server: complete but for
// managedFields.
class WholeRef : public ObjectRef {
 public:
  explicit WholeRef(kcm_object* handle) noexcept : ObjectRef(handle) {}
  static WholeRef Share(kcm_object* borrowed) {
    internal::ObjectApi().add_ref(borrowed);
    return WholeRef(borrowed);
  }
  WholeRef Share() const { return Share(handle_); }
};

// Text of a value in a node's form, for bodies and comparisons.
Json ToJson(rules::Node node);

}  // namespace kcm::sdk
