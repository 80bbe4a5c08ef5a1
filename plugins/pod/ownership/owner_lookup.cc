// SPDX-License-Identifier: Apache-2.0
// Finding owners in their cache.
#include "plugins/pod/ownership/owner_lookup.h"

namespace kcm::pod {

std::string OrphansIn(std::string_view ns) { return "orphan:" + std::string(ns); }

std::optional<sdk::WholeRef> OwnerLookup::Resolve(std::string_view ns,
                                                  rules::Node reference) const {
  if (reference.Get("kind").String() != resource_.kind) return std::nullopt;
  std::optional<sdk::WholeRef> owner =
      cache_.Get(watch_, std::string(ns) + "/" + std::string(reference.Get("name").String()));
  if (owner && owner->Uid() != reference.Get("uid").String()) owner.reset();
  return owner;
}

std::vector<sdk::WholeRef> OwnerLookup::Matching(std::string_view ns, rules::Node orphan) const {
  std::vector<sdk::WholeRef> out;
  const rules::Node labels = orphan.Path("metadata.labels");
  if (labels.empty()) return out;
  sdk::ObjectList<sdk::WholeRef> owners = cache_.List(watch_, {.ns = ns});
  for (sdk::WholeRef& owner : owners.items()) {
    const Result<rules::LabelSelector> selector = SelectorOf(owner.Root());
    if (selector.ok() && selector->CanSearch() && selector->Matches(labels))
      out.push_back(std::move(owner));
  }
  return out;
}

bool OwnerLookup::Has(std::string_view key, std::string_view uid) const {
  const std::optional<sdk::WholeRef> owner = cache_.Get(watch_, key);
  return owner && owner->Uid() == uid;
}

Result<rules::LabelSelector> OwnerLookup::SelectorOf(rules::Node owner) const {
  const rules::Node selector = owner.Path("spec.selector");
  return form_ == SelectorForm::kMap ? rules::LabelSelector::FromMap(selector)
                                     : rules::LabelSelector::FromObject(selector);
}

}  // namespace kcm::pod
