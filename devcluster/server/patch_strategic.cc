// SPDX-License-Identifier: Apache-2.0
// Strategic merge patch (patch_document.h, spec/apiserver F4).
#include <algorithm>
#include <vector>

#include "devcluster/server/convert.h"
#include "devcluster/server/failure.h"
#include "devcluster/server/patch_document.h"

namespace kcm::devcluster {
namespace {

constexpr std::string_view kOrder = "$setElementOrder/";
constexpr std::string_view kDeletePrimitive = "$deleteFromPrimitiveList/";

bool Starts(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

class Strategic {
 public:
  explicit Strategic(const ListKeys& keys) : keys_(keys) {}

  void Map(Json* into, const Json& patch, const std::string& path) {
    if (const auto directive = patch.find("$patch"); directive != patch.end()) {
      const std::string what =
          directive->is_string() ? directive->get<std::string>() : GoMap(*directive);
      if (what == "replace") {
        *into = patch;
        into->erase("$patch");
        return;
      }
      if (what == "delete") {
        *into = Json::object();
        return;
      }
      if (what != "merge")
        Fail(Untyped("unknown patch type: " + what + " in map: " + GoMap(patch)));
    }
    if (!into->is_object()) *into = Json::object();
    if (const auto retain = patch.find("$retainKeys");
        retain != patch.end() && retain->is_array()) {
      for (auto it = into->begin(); it != into->end();) {
        const bool kept =
            std::find(retain->begin(), retain->end(), Json(it.key())) != retain->end();
        it = kept ? std::next(it) : into->erase(it);
      }
    }
    DeletePrimitives(into, patch);
    for (const auto& [name, value] : patch.items()) {
      if (name == "$patch" || name == "$retainKeys" || Starts(name, kOrder) ||
          Starts(name, kDeletePrimitive))
        continue;
      Member(into, name, value, patch, path.empty() ? name : path + "." + name);
    }
    Reorder(into, patch, path);
  }

 private:
  static void DeletePrimitives(Json* into, const Json& patch) {
    for (const auto& [name, value] : patch.items()) {
      if (!Starts(name, kDeletePrimitive) || !value.is_array()) continue;
      const auto list = into->find(name.substr(kDeletePrimitive.size()));
      if (list == into->end() || !list->is_array()) continue;
      Json kept = Json::array();
      for (Json& item : *list) {
        if (std::find(value.begin(), value.end(), item) == value.end())
          kept.push_back(std::move(item));
      }
      *list = std::move(kept);
    }
  }

  void Member(Json* into, const std::string& name, const Json& value, const Json& patch,
              const std::string& path) {
    if (value.is_null()) {
      into->erase(name);
      return;
    }
    if (value.is_object()) {
      Json& slot = (*into)[name];
      Map(&slot, value, path);
      if (const auto d = value.find("$patch"); d != value.end() && *d == "delete")
        into->erase(name);
      return;
    }
    if (!value.is_array()) {
      (*into)[name] = value;
      return;
    }
    const KindRegistry::ListKey key = keys_(path);
    if (key.key.empty()) {
      (*into)[name] = value;
      return;
    }
    Json& slot = (*into)[name];
    if (!slot.is_array()) slot = Json::array();
    const auto order = patch.find(std::string(kOrder) + name);
    const Json* wanted = order != patch.end() && order->is_array() ? &*order : nullptr;
    slot = key.key == "$set" ? Set(std::move(slot), value, wanted)
                             : List(std::move(slot), value, key.key, path, wanted);
  }

  // A list order given without the list itself only moves items.
  void Reorder(Json* into, const Json& patch, const std::string& path) {
    for (const auto& [name, value] : patch.items()) {
      if (!Starts(name, kOrder) || !value.is_array()) continue;
      const std::string list = name.substr(kOrder.size());
      if (patch.contains(list)) continue;
      const auto slot = into->find(list);
      if (slot == into->end() || !slot->is_array()) continue;
      const KindRegistry::ListKey key = keys_(path.empty() ? list : path + "." + list);
      if (key.key.empty()) continue;
      const Json server = *slot;
      *slot = Arrange(std::move(*slot), server, value, key.key == "$set" ? "" : key.key);
    }
  }

  // Value by which items of a list are told apart: the key's member, or the item itself.
  static Json IdOf(const Json& item, const std::string& key) {
    if (key.empty()) return item;
    return item.is_object() && item.contains(key) ? item[key] : Json();
  }

  static std::ptrdiff_t Index(const Json& list, const Json& id, const std::string& key) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (IdOf(list[i], key) == id) return static_cast<std::ptrdiff_t>(i);
    }
    return -1;
  }

  // Items named by `wanted` in its order; the others keep their places relative to the server's
  // order, behind what is new.
  static Json Arrange(Json merged, const Json& server, const Json& wanted, const std::string& key) {
    std::vector<Json> named, others;
    for (const Json& w : wanted) {
      const std::ptrdiff_t i = Index(merged, IdOf(w, key), key);
      if (i >= 0) named.push_back(merged[static_cast<size_t>(i)]);
    }
    for (Json& item : merged) {
      if (Index(wanted, IdOf(item, key), key) < 0) others.push_back(std::move(item));
    }
    Json out = Json::array();
    size_t i = 0, j = 0;
    while (i < others.size() || j < named.size()) {
      bool other_first = j == named.size();
      if (i < others.size() && j < named.size()) {
        const std::ptrdiff_t a = Index(server, IdOf(others[i], key), key),
                             b = Index(server, IdOf(named[j], key), key);
        other_first = a >= 0 && b >= 0 && a < b;
      }
      out.push_back(std::move(other_first ? others[i++] : named[j++]));
    }
    return out;
  }

  static Json Set(Json have, const Json& patch, const Json* wanted) {
    const Json server = have;
    for (const Json& item : patch) {
      if (std::find(have.begin(), have.end(), item) == have.end()) have.push_back(item);
    }
    return Arrange(std::move(have), server, wanted != nullptr ? *wanted : patch, "");
  }

  Json List(Json have, const Json& patch, const std::string& key, const std::string& path,
            const Json* wanted) {
    const auto directive = [](const Json& item) -> std::string {
      const auto it = item.is_object() ? item.find("$patch") : item.end();
      return item.is_object() && it != item.end() && it->is_string() ? it->get<std::string>()
                                                                     : std::string();
    };
    if (std::any_of(patch.begin(), patch.end(),
                    [&](const Json& i) { return directive(i) == "replace"; })) {
      Json out = Json::array();
      for (const Json& item : patch) {
        if (directive(item).empty()) out.push_back(item);
      }
      return out;
    }
    const Json server = have;
    Json named = Json::array();
    for (const Json& item : patch) {
      if (!item.is_object()) Fail(Unprocessable());
      if (!item.contains(key))
        Fail(Untyped("map: " + GoMap(item) + " does not contain declared merge key: " + key));
      const std::string what = directive(item);
      if (!what.empty() && what != "delete" && what != "merge") {
        Fail(Untyped("unknown patch type: " + what + " in map: " + GoMap(item)));
      }
      std::ptrdiff_t at = Index(have, item[key], key);
      if (what == "delete") {
        for (; at >= 0; at = Index(have, item[key], key)) have.erase(static_cast<size_t>(at));
        continue;
      }
      if (at < 0) {
        have.push_back(Json::object());
        at = static_cast<std::ptrdiff_t>(have.size()) - 1;
      }
      Map(&have[static_cast<size_t>(at)], item, path);
      named.push_back(item);
    }
    return Arrange(std::move(have), server, wanted != nullptr ? *wanted : named, key);
  }

  const ListKeys& keys_;
};

}  // namespace

// As Go prints maps in the reference's messages: map[a:1 b:2].
std::string GoMap(const Json& v) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_null()) return "<nil>";
  if (v.is_array()) {
    std::string out = "[";
    for (const Json& item : v) out += (out.size() > 1 ? " " : "") + GoMap(item);
    return out + "]";
  }
  if (!v.is_object()) return v.dump();
  std::string out = "map[";
  for (const auto& [name, value] : v.items())
    out += (out.size() > 4 ? " " : "") + name + ":" + GoMap(value);
  return out + "]";
}

Json ApplyStrategicPatch(Json document, const Json& patch, const ListKeys& keys) {
  if (!patch.is_object()) {
    Fail(
        BadRequest("error decoding patch: json: cannot unmarshal array into Go value of type "
                   "map[string]interface {}"));
  }
  Strategic(keys).Map(&document, patch, "");
  return document;
}

}  // namespace kcm::devcluster
