// SPDX-License-Identifier: Apache-2.0
// Removing `kubernetes` from spec.finalizers.
#include "plugins/namespace/namespace/finalizers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"

namespace kcm::ns::namespaces {
namespace {

using sdk::Json;

TEST(NamespaceFinalizers, OnlyTheOwnOneGoes) {
  const struct {
    const char* name;
    const char* have;
    std::vector<std::string> want;
    bool finalized;
  } rows[] = {
      {"own", R"(["kubernetes"])", {}, false},
      {"foreign are sorted", R"(["kubernetes","z.io/f","a.io/f"])", {"a.io/f", "z.io/f"}, false},
      {"each once", R"(["a.io/f","kubernetes","a.io/f"])", {"a.io/f"}, false},
      {"unsorted", R"(["z.io/f","a.io/f"])", {"a.io/f", "z.io/f"}, false},
      {"nothing to do", R"(["a.io/f","z.io/f"])", {"a.io/f", "z.io/f"}, true},
      {"none", "null", {}, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Json ns{{"metadata", {{"name", "n"}, {"resourceVersion", "7"}, {"labels", {{"a", "b"}}}}},
            {"spec", {{"finalizers", Json::parse(row.have)}}},
            {"status", {{"phase", "Terminating"}}}};
    EXPECT_EQ(ForeignFinalizers(rules::JsonNode(ns)), row.want);
    EXPECT_EQ(IsFinalized(rules::JsonNode(ns)), row.finalized);
    const Json metadata = ns["metadata"];
    RemoveOwnFinalizer(ns);
    EXPECT_EQ(ns, (Json{{"metadata", metadata}, {"spec", {{"finalizers", row.want}}}}));
  }
}

TEST(NamespaceFinalizers, NoSpecGivesAnEmptyList) {
  Json ns{{"metadata", {{"name", "n"}}}};
  RemoveOwnFinalizer(ns);
  EXPECT_EQ(ns["spec"]["finalizers"], Json::array());
}

}  // namespace
}  // namespace kcm::ns::namespaces
