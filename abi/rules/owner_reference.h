// SPDX-License-Identifier: Apache-2.0
// Owner references: who controls an object, adoption and release (spec/pod-workloads.md 1.3, 1.4;
// pod-batch.md Jobs).
//
//   const Node controller = ControllerOf(pod);
//   switch (Claim(pod, {.uid = rs_uid, .deleting = false, .ns = ns}, selector.Matches(labels))) ...
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

// The fields of a reference; views, valid as long as what they were taken from.
struct OwnerReference {
  std::string_view api_version, kind, name, uid;
  bool controller = true;
  bool block_owner_deletion = true;
};

OwnerReference OwnerReferenceOf(Node reference);
// All six fields equal (absent booleans are false).
bool SameOwnerReference(Node x, Node y);

// The entry of metadata.ownerReferences with controller true; absent Node when there is none (1.3).
Node ControllerOf(Node object);
// The controller reference's uid equals `uid`.
bool IsControlledBy(Node object, std::string_view uid);
// Any entry of metadata.ownerReferences with this uid; absent Node when there is none.
Node OwnerWithUid(Node object, std::string_view uid);

enum class ClaimDecision : uint8_t {
  kNone,     // not ours, nothing to do
  kClaimed,  // ours already
  kAdopt,    // send AdoptPatch; ours when it succeeded
  kRelease,  // send ReleasePatch; not ours
};

struct Claimant {
  std::string_view uid;
  bool deleting = false;  // the owner has a deletionTimestamp
  // Adopts only in its own namespace; empty: a cluster-scoped owner, adopts anywhere.
  std::string_view ns = {};
};

// The decision table of 1.4. `matches`: selector and extra filter accept the candidate.
ClaimDecision Claim(Node candidate, const Claimant& owner, bool matches);

// Bodies of strategic merge patches (1.4.2, 1.4.3). The candidate's uid inside is the precondition.
std::string AdoptPatch(const OwnerReference& owner, std::string_view candidate_uid);
std::string ReleasePatch(std::string_view owner_uid, std::string_view candidate_uid);
// Release that also takes a finalizer away (Jobs). Empty finalizer: as above.
std::string ReleasePatch(std::string_view owner_uid, std::string_view candidate_uid,
                         std::string_view finalizer);
// Adoption that also adds a finalizer (Jobs). Empty finalizer: as above.
std::string AdoptPatch(const OwnerReference& owner, std::string_view candidate_uid,
                       std::string_view finalizer);

// `{"apiVersion":..,"kind":..,"name":..,"uid":..,"controller":true,"blockOwnerDeletion":true}`;
// false booleans are left out.
std::string OwnerReferenceJson(const OwnerReference& owner);

// `can't adopt <Kind> <ns>/<name> (<uid>): <cause>` (1.4.1); about the candidate.
std::string CannotAdopt(std::string_view kind, Node candidate, std::string_view cause);

}  // namespace kcm::rules
