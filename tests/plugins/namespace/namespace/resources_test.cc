// SPDX-License-Identifier: Apache-2.0
// Which resources are content, and what a partial discovery says.
#include "plugins/namespace/namespace/resources.h"

#include <gtest/gtest.h>

namespace kcm::ns::namespaces {
namespace {

sdk::ServedResource R(std::string group, std::string version, std::string resource,
                      std::string verbs, bool namespaced = true) {
  return {std::move(group), std::move(version), std::move(resource), "",
          std::move(verbs), namespaced};
}

TEST(NamespaceResources, NamespacedAndDeletableInServerOrder) {
  sdk::ServedResources served;
  served.resources = {
      R("", "v1", "pods", "create,delete,deletecollection,get,list"),
      R("", "v1", "nodes", "delete,deletecollection", false), R("", "v1", "bindings", "create"),
      R("x.io", "v1", "things", "deletecollection,get"), R("apps", "v1", "deployments", "delete")};
  const std::vector<sdk::ServedResource> got = DeletableResources(served);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_TRUE(IsPods(got[0]));
  EXPECT_FALSE(IsPods(got[1]));
  EXPECT_FALSE(IsPods(R("metrics.k8s.io", "v1", "pods", "")));
  EXPECT_EQ(ConditionName(got[0]), "pods.");
  EXPECT_EQ(ConditionName(got[1]), "deployments.apps");
  EXPECT_EQ(ErrorName(got[0]), "/v1, Resource=pods");
  EXPECT_EQ(ErrorName(got[1]), "apps/v1, Resource=deployments");
}

TEST(NamespaceResources, PartialFailureIsSortedAndCounted) {
  sdk::ServedResources served;
  EXPECT_FALSE(PartialFailure(served).has_value());
  served.failed = "z.io/v1: stale GroupVersion discovery: z.io/v1\na.io/v1: no route\n";
  const std::optional<PartialDiscovery> partial = PartialFailure(served);
  ASSERT_TRUE(partial.has_value());
  EXPECT_EQ(partial->failing, 2u);
  EXPECT_EQ(
      partial->text,
      "unable to retrieve the complete list of server APIs: a.io/v1: no route, z.io/v1: stale "
      "GroupVersion discovery: z.io/v1");
  EXPECT_EQ(partial->ConditionMessage(),
            "Discovery failed for some groups, 2 failing: " + partial->text);
}

TEST(NamespaceResources, ParsingFailure) {
  EXPECT_FALSE(ParsingFailure({R("apps", "v1", "deployments", "")}).has_value());
  EXPECT_EQ(ParsingFailure({R("", "v1", "pods", ""), R("a/b", "v1", "x", "")}),
            "unexpected GroupVersion string: a/b/v1");
}

TEST(NamespaceResources, MissingVerbsKnowsOnlyTheStart) {
  sdk::ServedResources served;
  served.resources = {R("", "v1", "services", "delete,list"), R("a.io", "v1", "xs", "delete")};
  const MissingVerbs missing(served);
  EXPECT_TRUE(missing.DeleteCollection(served.resources[0]));
  EXPECT_FALSE(missing.List(served.resources[0]));
  EXPECT_TRUE(missing.List(served.resources[1]));
  EXPECT_FALSE(missing.List(R("new.io", "v1", "ys", "")));
  EXPECT_FALSE(missing.DeleteCollection(R("new.io", "v1", "ys", "")));
}

}  // namespace
}  // namespace kcm::ns::namespaces
