// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/owner_reference.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

constexpr char kOwned[] =
    R"({"metadata":{"namespace":"d","ownerReferences":[{"uid":"other"},{"kind":"ReplicaSet","uid":"ours","controller":true}]}})";
constexpr char kForeign[] =
    R"({"metadata":{"namespace":"d","ownerReferences":[{"uid":"x","controller":true}]}})";
constexpr char kOrphan[] = R"({"metadata":{"namespace":"d","ownerReferences":[{"uid":"ours"}]}})";
constexpr char kDyingOrphan[] =
    R"({"metadata":{"namespace":"d","deletionTimestamp":"2024-05-01T10:00:00Z"}})";
constexpr char kDyingOwned[] =
    R"({"metadata":{"namespace":"d","deletionTimestamp":"2024-05-01T10:00:00Z","ownerReferences":[{"uid":"ours","controller":true}]}})";
constexpr char kElsewhere[] = R"({"metadata":{"namespace":"e"}})";

TEST(OwnerReference, ClaimFollowsTheTable) {
  using D = ClaimDecision;
  const struct {
    const char* name;
    const char* candidate;
    bool deleting;
    bool matches;
    D want;
  } rows[] = {
      {"of another", kForeign, false, true, D::kNone},
      {"of another, no match", kForeign, false, false, D::kNone},
      {"ours", kOwned, false, true, D::kClaimed},
      {"ours, owner dying", kOwned, true, true, D::kClaimed},
      {"ours, candidate dying", kDyingOwned, false, true, D::kClaimed},
      {"ours, no match, owner dying", kOwned, true, false, D::kNone},
      {"ours, no match", kOwned, false, false, D::kRelease},
      {"orphan, owner dying", kOrphan, true, true, D::kNone},
      {"orphan, no match", kOrphan, false, false, D::kNone},
      {"dying orphan", kDyingOrphan, false, true, D::kNone},
      {"orphan", kOrphan, false, true, D::kAdopt},
      {"orphan of another namespace", kElsewhere, false, true, D::kNone},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Parsed candidate(row.candidate);
    EXPECT_EQ(Claim(candidate, {.uid = "ours", .deleting = row.deleting, .ns = "d"}, row.matches),
              row.want);
  }
}

TEST(OwnerReference, FindsTheController) {
  const Parsed owned(kOwned);
  EXPECT_EQ(ControllerOf(owned).Get("kind").String(), "ReplicaSet");
  EXPECT_TRUE(IsControlledBy(owned, "ours"));
  EXPECT_FALSE(IsControlledBy(owned, "other"));
  EXPECT_TRUE(OwnerWithUid(owned, "other").Has());
  const Parsed orphan(kOrphan);
  EXPECT_FALSE(ControllerOf(orphan).Has()) << "an entry without controller: true is no controller";
  EXPECT_FALSE(IsControlledBy(orphan, ""));
  EXPECT_FALSE(ControllerOf(Node()).Has());
}

TEST(OwnerReference, PatchBodies) {
  const OwnerReference rs{"apps/v1", "ReplicaSet", "web", "u1"};
  EXPECT_EQ(
      AdoptPatch(rs, "p1"),
      R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u1",)"
      R"("controller":true,"blockOwnerDeletion":true}],"uid":"p1"}})");
  EXPECT_EQ(ReleasePatch("u1", "p1"),
            R"({"metadata":{"uid":"p1","ownerReferences":[{"$patch":"delete","uid":"u1"}]}})");
  EXPECT_EQ(ReleasePatch("u1", "p1", "batch.kubernetes.io/job-tracking"),
            R"({"metadata":{"uid":"p1","ownerReferences":[{"$patch":"delete","uid":"u1"}],)"
            R"("$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}})");
  EXPECT_TRUE(AdoptPatch(rs, "p1", "f/x").ends_with(R"("uid":"p1","finalizers":["f/x"]}})"));
}

TEST(OwnerReference, ComparesAllFields) {
  const Parsed a(R"({"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"})");
  EXPECT_TRUE(SameOwnerReference(
      a, Parsed(R"({"uid":"u","apiVersion":"v1","kind":"Pod","name":"p","controller":false})")));
  EXPECT_FALSE(SameOwnerReference(
      a, Parsed(R"({"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true})")));
  EXPECT_FALSE(
      SameOwnerReference(a, Parsed(R"({"apiVersion":"v1","kind":"Pod","name":"q","uid":"u"})")));
}

TEST(OwnerReference, RefusedAdoptionIsNamed) {
  EXPECT_EQ(
      CannotAdopt("Pod", Parsed(R"({"metadata":{"namespace":"d","name":"p","uid":"u"}})"), "gone"),
      "can't adopt Pod d/p (u): gone");
}

}  // namespace
}  // namespace kcm::rules
