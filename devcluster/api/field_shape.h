// SPDX-License-Identifier: Apache-2.0
// FieldShape: how server-side apply sees a value (spec/apiserver B2, F5).
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kcm::devcluster {

struct FieldShape {
  enum class List { kAtomic, kSet, kKeyed };
  List list = List::kAtomic;
  std::vector<std::string> keys;          // of kKeyed
  bool atomic_map = false;                // an object (of a list: each item) is one single value
  nlohmann::json key_defaults = nullptr;  // what an absent key stands for, by key; null: nothing
};

// By path: member names and map keys joined by dots, without indexes. An item has its list's path.
using FieldShapes = std::function<FieldShape(std::string_view path)>;

// The path of a member of the value at `path`. A dot in a name is kept apart from those between
// names.
inline constexpr char kDotInName = '\x1f';
inline std::string FieldPath(const std::string& path, std::string name) {
  for (char& c : name) {
    if (c == '.') c = kDotInName;
  }
  return path.empty() ? name : path + "." + name;
}
// Takes the first name off `path`, as FieldPath was given it.
inline std::string TakeName(std::string_view* path) {
  const size_t dot = path->find('.');
  std::string name(path->substr(0, dot));
  path->remove_prefix(dot == std::string_view::npos ? path->size() : dot + 1);
  for (char& c : name) {
    if (c == kDotInName) c = '.';
  }
  return name;
}

}  // namespace kcm::devcluster
