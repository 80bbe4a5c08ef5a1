// SPDX-License-Identifier: Apache-2.0
// ControllerRevision data: the exact bytes that a Go manager would store, their hash and their
// equality (spec/pod-workloads.md 1.15).
//
//   const std::string data = RevisionData(sts.Path("spec.template"));
//   const std::string hash = RevisionHash(data, collision_count);
//
// And the rules of a history: its order, which revision a template belongs to, which ones go
// (5.1, 5.8).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/owner_reference.h"

namespace kcm::rules {

// `{"spec":{"template":{"$patch":"replace",...}}}`: canonical bytes; send them as they are.
std::string RevisionData(Node pod_template);

// EncodeHash(FNV-1) over the data, then over the decimal collision count when there is one.
std::string RevisionHash(std::string_view data, std::optional<int64_t> collision_count);

// Same template as far as the API can tell; byte equality implies it (1.15.3).
bool RevisionDataEqual(Node x, Node y);
// What `older` restores is `newer` once the server has filled in its defaults: a server that
// learned a default since must not cause a rollout (5.1.3).
bool RevisionRestores(Node older, Node newer);

// The label of a StatefulSet's revision that holds its hash.
inline constexpr std::string_view kRevisionHashLabel = "controller.kubernetes.io/hash";
// The label of a pod that says which revision made it: of a StatefulSet the revision's name, of a
// DaemonSet the bare hash.
inline constexpr std::string_view kPodRevisionLabel = "controller-revision-hash";

// `<owner>-<hash>`, the owner's part cut to 223 bytes.
std::string RevisionName(std::string_view owner, std::string_view hash);

// data.spec.template of a revision, with the member `$patch`; absent Node when it holds none.
Node RevisionTemplate(Node revision);

struct NewRevision {
  std::string name = {};
  std::string_view ns = {};
  Node labels = {};  // copied, with the next two added
  std::string_view hash_label = {}, hash = {};
  Node annotations = {};  // copied
  OwnerReference owner = {};
  std::string_view data = {};  // sent byte for byte
  int64_t revision = 0;
};
// JSON of the ControllerRevision to POST.
std::string RevisionBody(const NewRevision& fresh);

// Order of a history: revision, then creationTimestamp, then name. `history` below is in this
// order.
bool RevisionBefore(Node x, Node y);
// One above the highest; 1 for none.
int64_t NextRevision(std::span<const Node> history);

struct RevisionChoice {
  enum class Type : uint8_t {
    kKeep,      // history[place] as it is
    kRenumber,  // history[place] becomes the newest
    kCreate,    // none fits
  };
  Type type = Type::kCreate;
  size_t place = 0;
};
// The revision of a template whose revision data is `data`. `by_defaults`: RevisionRestores()
// counts for the highest one.
RevisionChoice ChooseRevision(std::span<const Node> history, Node data, bool by_defaults);

// Places of the revisions beyond `limit` that are not live, lowest first. A negative limit keeps
// all.
std::vector<size_t> RevisionsToDelete(std::span<const Node> history,
                                      const std::function<bool(std::string_view name)>& is_live,
                                      int64_t limit);

}  // namespace kcm::rules
