// SPDX-License-Identifier: Apache-2.0
// JsonNode: reads an nlohmann::json through rules::Node. Header only and generic, so that rules
// needs no json library:
//   #include <nlohmann/json.hpp> first, then rules::JsonNode(value).
// The view borrows `value`: it must outlive the Node and not change meanwhile.
#pragma once
#include <iterator>
#include <string>

#include "kcm/rules/node.h"

namespace kcm::rules {

template <class Json>
Node JsonNode(const Json& value);

namespace internal {
template <class Json>
struct JsonOps {
  static const Json& Ref(uint64_t a) { return *reinterpret_cast<const Json*>(a); }
  static Kind KindOf(uint64_t a, uint64_t) {
    const Json& j = Ref(a);
    if (j.is_null()) return Kind::kNull;
    if (j.is_boolean()) return Kind::kBool;
    if (j.is_number_integer()) return Kind::kInt;
    if (j.is_number()) return Kind::kDouble;
    if (j.is_string()) return Kind::kString;
    if (j.is_array()) return Kind::kArray;
    return j.is_object() ? Kind::kObject : Kind::kAbsent;
  }
  static Node Member(uint64_t a, uint64_t, std::string_view name) {
    const Json& j = Ref(a);
    if (!j.is_object()) return Node();
    const auto it = j.find(name);
    return it == j.end() ? Node() : JsonNode(*it);
  }
  static size_t Size(uint64_t a, uint64_t) {
    const Json& j = Ref(a);
    return j.is_array() || j.is_object() ? j.size() : 0;
  }
  static Node At(uint64_t a, uint64_t, size_t i) { return JsonNode(Ref(a)[i]); }
  static std::pair<std::string_view, Node> Entry(uint64_t a, uint64_t, size_t i) {
    auto it = Ref(a).begin();
    std::advance(it, static_cast<std::ptrdiff_t>(i));
    return {it.key(), JsonNode(*it)};
  }
  static std::string_view String(uint64_t a, uint64_t) {
    const Json& j = Ref(a);
    return j.is_string() ? std::string_view(j.template get_ref<const std::string&>())
                         : std::string_view();
  }
  static int64_t Int(uint64_t a, uint64_t) {
    const Json& j = Ref(a);
    return j.is_number_integer() ? j.template get<int64_t>()
                                 : static_cast<int64_t>(j.template get<double>());
  }
  static double Real(uint64_t a, uint64_t) { return Ref(a).template get<double>(); }
  static bool Bool(uint64_t a, uint64_t) { return Ref(a).template get<bool>(); }
  static constexpr NodeOps kOps = {KindOf, Member, Size, At, Entry, String, Int, Real, Bool};
};
}  // namespace internal

template <class Json>
Node JsonNode(const Json& value) {
  return Node(&internal::JsonOps<Json>::kOps, reinterpret_cast<uint64_t>(&value), 0);
}

}  // namespace kcm::rules
