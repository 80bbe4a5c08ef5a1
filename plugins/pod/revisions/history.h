// SPDX-License-Identifier: Apache-2.0
// History: the ControllerRevisions of one workload during one reconcile: found, adopted, created,
// renumbered, cut (spec/pod-workloads.md 1.4, 1.15, 5.1, 5.8). What to do with them is decided by
// kcm/rules/controller_revision.h.
//
//   History history(run, clock, watch, kStatefulSets, set);
//   history.Read(selector);
//   if (const Status adopted = history.Adopt(); !adopted.ok()) return adopted;
//   const rules::RevisionChoice choice = rules::ChooseRevision(history.nodes(), data, true);
//
// One thread, one use. Written revisions replace those of the cache.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

class History {
 public:
  // Where the revisions are cached: a whole watch, indexed by controller.
  struct Source {
    sdk::Cache cache;
    sdk::WholeWatch watch;
    int by_controller = 0;
  };
  // `owner` must outlive the history; the resource is a constant.
  History(const sdk::Run& run, const sdk::Clock& clock, Source source,
          const sdk::Resource& owner_resource, const sdk::WholeRef& owner)
      : run_(run), clock_(clock), source_(source), owner_resource_(owner_resource), owner_(owner) {}

  // Those that match the selector and are the owner's or nobody's, in the order of a history.
  void Read(const rules::LabelSelector& selector);
  // Makes nobody's ones the owner's, after a look at the live owner. An owner that is being deleted
  // adopts nothing.
  Status Adopt();
  // Read() and more, as pods are claimed: nobody's ones that match are adopted, the owner's that do
  // not match are released (1.4).
  Status Claim(const rules::LabelSelector& selector);

  size_t size() const { return items_.size(); }
  // In order; valid until the next call that changes the history.
  std::vector<rules::Node> nodes() const;
  rules::Node node(size_t place) const { return items_[place].Root(); }
  std::string_view name(size_t place) const { return items_[place].Name(); }
  std::optional<size_t> Find(std::string_view name) const;

  enum class Posted : uint8_t {
    kUsable,  // created, or there already with the same data: the last one of the history now
    kTaken,   // the name belongs to other data
  };
  Result<Posted> Create(const rules::NewRevision& fresh);

  // Gives the revision a number by an update, with fresh objects on conflicts; then it is the last
  // one.
  Status Renumber(size_t place, int64_t revision);

  // Gives the revision a label by an update of the cached object.
  Status SetLabel(size_t place, std::string_view label, std::string_view value);

  // One that is gone already is no error. Places stay.
  Status Delete(size_t place);

  // Deletes what is not live beyond `limit`, lowest first, up to the first failure.
  Status Truncate(const std::function<bool(std::string_view name)>& is_live, int64_t limit);

  rules::OwnerReference Reference() const;

 private:
  // Those of one owner, by its uid or `orphan:<namespace>`.
  sdk::ObjectList<sdk::WholeRef> CachedOf(std::string_view owner) const;
  void Sort();

  const sdk::Run& run_;
  const sdk::Clock clock_;
  const Source source_;
  const sdk::Resource& owner_resource_;
  const sdk::WholeRef& owner_;
  const std::string api_version_ = owner_resource_.ApiVersion();
  std::vector<sdk::WholeRef> items_;
};

}  // namespace kcm::pod
