// SPDX-License-Identifier: Apache-2.0
// JSON patch and merge patch (patch_document.h).
#include <charconv>
#include <vector>

#include "devcluster/server/failure.h"
#include "devcluster/server/patch_document.h"

namespace kcm::devcluster {
namespace {

constexpr size_t kMaxOperations = 10000;

std::vector<std::string> PointerParts(const std::string& pointer) {
  std::vector<std::string> parts;
  if (pointer.empty()) return parts;
  if (pointer[0] != '/') Fail(Unprocessable());
  std::string part;
  for (size_t i = 1; i <= pointer.size(); ++i) {
    if (i == pointer.size() || pointer[i] == '/') {
      parts.push_back(part);
      part.clear();
    } else if (pointer[i] == '~' && i + 1 < pointer.size() &&
               (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
      part += pointer[++i] == '0' ? '~' : '/';
    } else {
      part += pointer[i];
    }
  }
  return parts;
}

// Position in a list of `size`; `end` allows one past the last. Negative ones count from the end,
// as the reference's library has it.
size_t IndexOf(const std::string& text, size_t size, bool end) {
  int64_t n = 0;
  const auto [p, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || p != text.data() + text.size()) Fail(Unprocessable());
  const auto limit = static_cast<int64_t>(size) + (end ? 1 : 0);
  if (n < 0) n += limit;
  if (n < 0 || n >= limit) Fail(Unprocessable());
  return static_cast<size_t>(n);
}

// The container that holds the last part of the pointer. REQUIRES: !parts.empty().
Json* Parent(Json* root, const std::vector<std::string>& parts) {
  Json* at = root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (at->is_object()) {
      const auto it = at->find(parts[i]);
      if (it == at->end()) Fail(Unprocessable());
      at = &*it;
    } else if (at->is_array()) {
      at = &(*at)[IndexOf(parts[i], at->size(), false)];
    } else {
      Fail(Unprocessable());
    }
  }
  if (!at->is_object() && !at->is_array()) Fail(Unprocessable());
  return at;
}

Json* ValueAt(Json* root, const std::vector<std::string>& parts) {
  if (parts.empty()) return root;
  Json* parent = Parent(root, parts);
  if (parent->is_array()) return &(*parent)[IndexOf(parts.back(), parent->size(), false)];
  const auto it = parent->find(parts.back());
  return it == parent->end() ? nullptr : &*it;
}

void Add(Json* root, const std::vector<std::string>& parts, Json value) {
  if (parts.empty()) {
    *root = std::move(value);
    return;
  }
  Json* parent = Parent(root, parts);
  if (parent->is_object()) {
    (*parent)[parts.back()] = std::move(value);
  } else if (parts.back() == "-") {
    parent->push_back(std::move(value));
  } else {
    parent->insert(
        parent->begin() + static_cast<std::ptrdiff_t>(IndexOf(parts.back(), parent->size(), true)),
        std::move(value));
  }
}

Json Remove(Json* root, const std::vector<std::string>& parts) {
  if (parts.empty()) Fail(Unprocessable());
  Json* parent = Parent(root, parts);
  Json removed;
  if (parent->is_object()) {
    const auto it = parent->find(parts.back());
    if (it == parent->end()) Fail(Unprocessable());
    removed = std::move(*it);
    parent->erase(it);
  } else {
    const size_t i = IndexOf(parts.back(), parent->size(), false);
    removed = std::move((*parent)[i]);
    parent->erase(i);
  }
  return removed;
}

std::string Member(const Json& operation, const char* name) {
  const auto it = operation.find(name);
  if (it == operation.end() || !it->is_string()) Fail(Unprocessable());
  return it->get<std::string>();
}

void Run(Json* root, const Json& operation) {
  const std::string op = Member(operation, "op");
  const std::vector<std::string> path = PointerParts(Member(operation, "path"));
  const auto value = operation.find("value");
  const Json given = value == operation.end() ? Json() : *value;
  if (op == "add") {
    Add(root, path, given);
  } else if (op == "replace") {
    if (path.empty()) {
      *root = given;
    } else if (Json* parent = Parent(root, path); parent->is_object()) {
      (*parent)[path.back()] = given;
    } else {
      (*parent)[IndexOf(path.back(), parent->size(), false)] = given;
    }
  } else if (op == "remove") {
    Remove(root, path);
  } else if (op == "test") {
    const Json* have = ValueAt(root, path);
    if (have == nullptr ? !given.is_null() : *have != given) Fail(Unprocessable());
  } else if (op == "move" || op == "copy") {
    const std::vector<std::string> from = PointerParts(Member(operation, "from"));
    if (op == "move") {
      Add(root, path, Remove(root, from));
    } else {
      const Json* source = ValueAt(root, from);
      if (source == nullptr) Fail(Unprocessable());
      Add(root, path, Json(*source));
    }
  } else {
    Fail(Unprocessable());
  }
}

void Merge(Json* into, const Json& patch) {
  if (!patch.is_object()) {
    *into = patch;
    return;
  }
  if (!into->is_object()) *into = Json::object();
  for (const auto& [name, value] : patch.items()) {
    if (value.is_null()) {
      into->erase(name);
    } else {
      Merge(&(*into)[name], value);
    }
  }
}

}  // namespace

Json ApplyJsonPatch(Json document, const Json& patch) {
  if (!patch.is_array()) {
    Fail(
        BadRequest("error decoding patch: json: cannot unmarshal object into Go value of type "
                   "[]handlers.jsonPatchOp"));
  }
  if (patch.size() > kMaxOperations) {
    ApiError e = BadRequest("The allowed maximum operations in a JSON patch is 10000, got " +
                            std::to_string(patch.size()));
    e.code = 413;
    e.reason = "RequestEntityTooLarge";
    Fail(std::move(e));
  }
  for (const Json& operation : patch) {
    if (!operation.is_object())
      Fail(BadRequest("error decoding patch: json: cannot unmarshal an operation"));
    Run(&document, operation);
  }
  return document;
}

Json ApplyMergePatch(Json document, const Json& patch) {
  if (patch.is_null()) Fail(BadRequest("Invalid JSON Patch"));
  if (!patch.is_object()) {
    Fail(
        BadRequest("error decoding patch: json: cannot unmarshal array into Go value of type "
                   "map[string]interface {}"));
  }
  Merge(&document, patch);
  return document;
}

}  // namespace kcm::devcluster
