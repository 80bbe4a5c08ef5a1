// SPDX-License-Identifier: Apache-2.0
// Selectors: which pods each autoscaler looks after, to find pods that several want to scale
// (spec/pod-batch.md 4.3, 4.5).
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/node.h"

namespace kcm::pod::hpa {

// Thread-safe. A look-up costs what the pod's own labels cost, however many autoscalers there are.
class Selectors {
 public:
  using Names = std::set<std::string, std::less<>>;

  // An autoscaler is there; until Set() it selects nothing. No effect when it is known.
  void Add(std::string_view ns, std::string_view name);
  // Only of one that was added and not removed meanwhile.
  void Set(std::string_view ns, std::string_view name, rules::LabelSelector selector);
  void Remove(std::string_view ns, std::string_view name);
  size_t size() const;

  // Autoscalers of the namespace that select one of these pods.
  Names Selecting(std::string_view ns, std::span<const rules::Node> pods) const;

 private:
  using Pair = std::pair<std::string, std::string>;
  struct Namespace {
    std::map<std::string, rules::LabelSelector, std::less<>> selectors;  // by autoscaler
    // Autoscalers by a label that their pods must have; those without such a label.
    std::map<Pair, Names> by_label;
    Names others;
  };
  static void Index(Namespace& n, const std::string& name, const rules::LabelSelector& selector);
  static void Unindex(Namespace& n, const std::string& name, const rules::LabelSelector& selector);

  mutable std::mutex mutex_;
  std::map<std::string, Namespace, std::less<>> namespaces_;  // guarded by mutex_
  size_t size_ = 0;                                           // guarded by mutex_
};

}  // namespace kcm::pod::hpa
