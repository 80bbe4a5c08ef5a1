// SPDX-License-Identifier: Apache-2.0
// Members by path.
#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

namespace {

template <class J>
J* FindIn(J& object, std::string_view path) {
  J* at = &object;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    if (!at->is_object()) return nullptr;
    const auto it = at->find(name);
    if (it == at->end() || it->is_null()) return nullptr;
    at = &*it;
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return at;
}

}  // namespace

const Json* Find(const Json& object, std::string_view path) {
  return FindIn<const Json>(object, path);
}
Json* Find(Json& object, std::string_view path) { return FindIn<Json>(object, path); }

const Json* Key(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

std::string_view KeyText(const Json& object, std::string_view name) {
  const Json* member = Key(object, name);
  return member != nullptr && member->is_string()
             ? std::string_view(member->get_ref<const std::string&>())
             : std::string_view();
}

std::string_view Text(const Json& object, std::string_view path) {
  const Json* member = Find(object, path);
  return member != nullptr && member->is_string()
             ? std::string_view(member->get_ref<const std::string&>())
             : std::string_view();
}

int64_t Integer(const Json& object, std::string_view path, int64_t otherwise) {
  const Json* member = Find(object, path);
  return member != nullptr && member->is_number_integer() ? member->get<int64_t>() : otherwise;
}

bool Flag(const Json& object, std::string_view path, bool otherwise) {
  const Json* member = Find(object, path);
  return member != nullptr && member->is_boolean() ? member->get<bool>() : otherwise;
}

const Json& Items(const Json& object, std::string_view path) {
  static const Json* const kNone =
      new Json(Json::array());  // never freed: no destructor runs at exit
  const Json* member = Find(object, path);
  return member != nullptr && member->is_array() ? *member : *kNone;
}

Json& Child(Json& object, std::string_view path) {
  Json* at = &object;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    Json& member = (*at)[std::string(path.substr(0, dot))];
    if (!member.is_object()) member = Json::object();
    at = &member;
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return *at;
}

void SetDefault(Json& object, std::string_view name, Json value) {
  if (!object.is_object()) return;
  Json& member = object[std::string(name)];
  if (member.is_null()) member = std::move(value);
}

void SetDefaultText(Json& object, std::string_view name, std::string_view value) {
  if (!object.is_object()) return;
  Json& member = object[std::string(name)];
  if (member.is_null() || (member.is_string() && member.get_ref<const std::string&>().empty()))
    member = value;
}

bool IsEmpty(const Json* value) {
  if (value == nullptr || value->is_null()) return true;
  if (value->is_string()) return value->get_ref<const std::string&>().empty();
  return (value->is_object() || value->is_array()) && value->empty();
}

bool SameMember(const Json& x, const Json& y, std::string_view path) {
  const Json* a = Find(x, path);
  const Json* b = Find(y, path);
  if (IsEmpty(a) || IsEmpty(b)) return IsEmpty(a) && IsEmpty(b);
  return *a == *b;
}

}  // namespace kcm::devcluster::kinds
