// SPDX-License-Identifier: Apache-2.0
// Reading and setting members of an object by path, as defaults, validation and tables need it all
// the time.
//
//   if (Text(pod, "spec.nodeName").empty()) ...
//   SetDefault(spec, "replicas", 1);
//
// Reading what is absent gives nullptr, an empty text or the value asked for. Paths are dotted
// plain member names. Views live as long as the object and until it changes. Thread-safe on
// different objects.
#pragma once
#include <string>
#include <string_view>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// The member at `path`, nullptr when absent or null on the way.
const Json* Find(const Json& object, std::string_view path);
Json* Find(Json& object, std::string_view path);
// The member `name` of an object, whatever characters the name has (map keys).
const Json* Key(const Json& object, std::string_view name);
std::string_view KeyText(const Json& object, std::string_view name);

std::string_view Text(const Json& object, std::string_view path);
int64_t Integer(const Json& object, std::string_view path, int64_t otherwise = 0);
bool Flag(const Json& object, std::string_view path, bool otherwise = false);
// An array at `path`; an empty one when absent. The reference lives as long as `object`.
const Json& Items(const Json& object, std::string_view path);

// The object at `path`, made when it is absent or null. REQUIRES: `object` is an object.
Json& Child(Json& object, std::string_view path);
// Sets a member that is absent or null (pointers of the API).
void SetDefault(Json& object, std::string_view name, Json value);
// Sets a text that is absent or empty (plain strings of the API).
void SetDefaultText(Json& object, std::string_view name, std::string_view value);

// Calls `change` for each object of the array at `path`.
template <class Change>
void ForEach(Json& object, std::string_view path, Change change) {
  Json* items = Find(object, path);
  if (items == nullptr || !items->is_array()) return;
  for (Json& item : *items) {
    if (item.is_object()) change(item);
  }
}

// absent, null, {}, [] and "" are the same here.
bool IsEmpty(const Json* value);
// Equal when absent and empty values count as the same (semantic equality of the API).
bool SameMember(const Json& x, const Json& y, std::string_view path);

}  // namespace kcm::devcluster::kinds
