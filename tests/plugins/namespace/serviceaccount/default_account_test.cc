// SPDX-License-Identifier: Apache-2.0
// Which namespaces get an account, and which refusals are the end of it.
#include "plugins/namespace/serviceaccount/default_account.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"

namespace kcm::ns::serviceaccount {
namespace {

using nlohmann::json;

TEST(DefaultAccount, OnlyActiveNamespacesWantOne) {
  const struct {
    const char* ns;
    bool want;
  } rows[] = {{R"({"status":{"phase":"Active"}})", true},
              {R"({"status":{"phase":"Terminating"}})", false},
              {R"({"status":{"phase":""}})", false},
              {R"({"status":{"phase":"active"}})", false},
              {R"({})", false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.ns);
    const json ns = json::parse(row.ns);
    EXPECT_EQ(WantsDefaultAccount(rules::JsonNode(ns)), row.want);
  }
}

TEST(DefaultAccount, BodyHoldsNameAndNamespaceOnly) {
  EXPECT_EQ(json::parse(DefaultAccountBody("n1")),
            json::parse(R"({"apiVersion":"v1","kind":"ServiceAccount",
                            "metadata":{"name":"default","namespace":"n1"}})"));
}

TEST(DefaultAccount, RefusalsThatSettle) {
  EXPECT_TRUE(IsSettled(MakeError(Code::kAlreadyExists, "")));
  Error terminating = MakeError(Code::kForbidden, "");
  EXPECT_FALSE(IsSettled(terminating)) << "a webhook's refusal is retried";
  terminating.cause = "NamespaceTerminating";
  EXPECT_TRUE(IsSettled(terminating));
  EXPECT_FALSE(IsSettled(MakeError(Code::kNotFound, ""))) << "retried until the cache drops it";
  EXPECT_FALSE(IsSettled(MakeError(Code::kConflict, "")));
}

}  // namespace
}  // namespace kcm::ns::serviceaccount
