// SPDX-License-Identifier: Apache-2.0
// Field masks: parsing, union, comparison.
#include "host/wire/mask.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "host/wire/object.h"

namespace kcm::host::wire {
namespace {

using Node = Mask::Node;
using Segments = std::vector<std::string_view>;

Error Bad(std::string_view path, std::string_view what) {
  return MakeError(Code::kInvalid,
                   "field path \"" + std::string(path) + "\": " + std::string(what));
}

// "a.b[].c[k.l/m]" into a, b, c, k.l/m.
Result<Segments> Split(std::string_view path) {
  Segments out;
  for (size_t i = 0; i < path.size();) {
    if (path[i] == '[') {
      const size_t close = path.find(']', i);
      if (close == std::string_view::npos) return Bad(path, "no ] to the [: close it");
      const std::string_view key = path.substr(i + 1, close - i - 1);
      const bool selects_items =
          key.empty() || key == "*" || key.find('=') != std::string_view::npos;
      if (out.empty()) return Bad(path, "starts with [: name the list or map first");
      if (!selects_items) out.push_back(key);
      i = close + 1;
      if (i < path.size() && path[i] == '.') {
        if (++i == path.size()) return Bad(path, "ends with a dot: remove it");
      } else if (i < path.size() && path[i] != '[') {
        return Bad(path, "text behind ]: separate members with a dot");
      }
      continue;
    }
    const size_t end = std::min(path.find_first_of(".[", i), path.size());
    if (end == i) return Bad(path, "has an empty member name: remove the extra dot");
    out.push_back(path.substr(i, end - i));
    i = end;
    if (i < path.size() && path[i] == '.' && ++i == path.size())
      return Bad(path, "ends with a dot: remove it");
  }
  if (out.empty()) return Bad(path, "is empty: name a member, or * for all");
  return out;
}

Node& Insert(std::vector<Node>* children, std::string_view name) {
  const auto at = std::lower_bound(children->begin(), children->end(), name,
                                   [](const Node& n, std::string_view x) { return n.name < x; });
  if (at != children->end() && at->name == name) return *at;
  Node node;
  node.name = std::string(name);
  node.id = FieldId(name);
  return *children->insert(at, std::move(node));
}

// Adds a path below `node`, which is new or has children. A shorter path swallows longer ones.
void Add(Node* node, const Segments& segments) {
  for (size_t i = 0; i < segments.size(); ++i) {
    const size_t before = node->children.size();
    Node& child = Insert(&node->children, segments[i]);
    const bool made = node->children.size() != before;
    if (!made && child.all()) return;
    if (i + 1 == segments.size()) child.children.clear();
    node = &child;
  }
}

Node Merge(const Node& x, const Node& y) {
  Node out;
  out.name = x.name;
  out.id = x.id;
  if (x.all() || y.all()) return out;
  out.children = x.children;
  for (const Node& child : y.children) {
    const Node* same = x.Child(child.name);
    Node& to = Insert(&out.children, child.name);
    to = same == nullptr ? child : Merge(*same, child);
  }
  return out;
}

bool CoversNode(const Node& wide, const Node& narrow) {
  if (wide.all()) return true;
  if (narrow.all()) return false;
  return std::all_of(narrow.children.begin(), narrow.children.end(), [&wide](const Node& child) {
    const Node* same = wide.Child(child.name);
    return same != nullptr && CoversNode(*same, child);
  });
}

bool PlainName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '-';
  });
}

void ListPaths(const Node& node, const std::string& prefix, std::vector<std::string>* out) {
  for (const Node& child : node.children) {
    std::string path = prefix;
    if (prefix.empty() || PlainName(child.name)) {
      path += (prefix.empty() ? "" : ".") + child.name;
    } else {
      path += "[" + child.name + "]";
    }
    if (child.all()) {
      out->push_back(std::move(path));
    } else {
      ListPaths(child, path, out);
    }
  }
}

}  // namespace

Mask::Mask() = default;

const Node* Mask::Node::Child(std::string_view child) const {
  const auto at = std::lower_bound(children.begin(), children.end(), child,
                                   [](const Node& n, std::string_view x) { return n.name < x; });
  return at != children.end() && at->name == child ? &*at : nullptr;
}

const Node* Mask::Node::Field(uint32_t field_id) const {
  for (const Node& child : children) {
    if (child.id == field_id) return &child;
  }
  return nullptr;
}

Result<Mask> Mask::Compile(const std::vector<std::string>& paths) {
  auto root = std::make_shared<Node>();
  Add(root.get(), {"metadata"});
  for (const std::string& path : paths) {
    if (path == "*") return Mask();
    const Result<Segments> segments = Split(path);
    if (!segments.ok()) return segments.error();
    Add(root.get(), *segments);
  }
  return Mask(std::shared_ptr<const Node>(std::move(root)));
}

Mask Mask::Union(const Mask& x, const Mask& y) {
  if (x.keeps_all() || y.keeps_all()) return Mask();
  return Mask(std::make_shared<const Node>(Merge(*x.root_, *y.root_)));
}

bool Mask::Covers(const Mask& narrower) const {
  if (keeps_all()) return true;
  return !narrower.keeps_all() && CoversNode(*root_, *narrower.root_);
}

std::vector<std::string> Mask::Paths() const {
  if (keeps_all()) return {"*"};
  std::vector<std::string> out;
  ListPaths(*root_, "", &out);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kcm::host::wire
