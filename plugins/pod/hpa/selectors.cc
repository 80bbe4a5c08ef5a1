// SPDX-License-Identifier: Apache-2.0
// The index of selectors.
#include "plugins/pod/hpa/selectors.h"

#include <optional>

namespace kcm::pod::hpa {

using rules::LabelSelector;
using rules::Node;

namespace {

// The first label of which the selector allows one value only.
std::optional<std::pair<std::string, std::string>> NeededLabel(const LabelSelector& selector) {
  for (const rules::SelectorRequirement& r : selector.requirements())
    if (const auto value = selector.RequiredValue(r.key)) return {{r.key, std::string(*value)}};
  return std::nullopt;
}

}  // namespace

void Selectors::Index(Namespace& n, const std::string& name, const LabelSelector& selector) {
  if (selector.SelectsNothing()) return;
  if (const auto label = NeededLabel(selector)) {
    n.by_label[*label].insert(name);
  } else {
    n.others.insert(name);
  }
}

void Selectors::Unindex(Namespace& n, const std::string& name, const LabelSelector& selector) {
  n.others.erase(name);
  const auto label = NeededLabel(selector);
  if (!label) return;
  const auto it = n.by_label.find(*label);
  if (it == n.by_label.end()) return;
  it->second.erase(name);
  if (it->second.empty()) n.by_label.erase(it);
}

void Selectors::Add(std::string_view ns, std::string_view name) {
  const std::lock_guard lock(mutex_);
  Namespace& n = namespaces_.try_emplace(std::string(ns)).first->second;
  if (n.selectors.try_emplace(std::string(name), LabelSelector::Nothing()).second) ++size_;
}

void Selectors::Set(std::string_view ns, std::string_view name, LabelSelector selector) {
  const std::lock_guard lock(mutex_);
  const auto n = namespaces_.find(ns);
  if (n == namespaces_.end()) return;
  const auto it = n->second.selectors.find(name);
  if (it == n->second.selectors.end() || it->second == selector) return;
  Unindex(n->second, it->first, it->second);
  it->second = std::move(selector);
  Index(n->second, it->first, it->second);
}

void Selectors::Remove(std::string_view ns, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto n = namespaces_.find(ns);
  if (n == namespaces_.end()) return;
  const auto it = n->second.selectors.find(name);
  if (it == n->second.selectors.end()) return;
  Unindex(n->second, it->first, it->second);
  n->second.selectors.erase(it);
  if (n->second.selectors.empty()) namespaces_.erase(n);
  --size_;
}

size_t Selectors::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

Selectors::Names Selectors::Selecting(std::string_view ns, std::span<const Node> pods) const {
  Names out;
  const std::lock_guard lock(mutex_);
  const auto n = namespaces_.find(ns);
  if (n == namespaces_.end()) return out;
  const auto add = [&](const Names& names, Node labels) {
    for (const std::string& name : names)
      if (!out.contains(name) && n->second.selectors.at(name).Matches(labels)) out.insert(name);
  };
  for (const Node pod : pods) {
    const Node labels = pod.Path("metadata.labels");
    for (const auto& [key, value] : labels.Entries()) {
      const auto it = n->second.by_label.find(Pair(key, value.String()));
      if (it != n->second.by_label.end()) add(it->second, labels);
    }
    add(n->second.others, labels);
  }
  return out;
}

}  // namespace kcm::pod::hpa
