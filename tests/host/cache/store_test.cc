// SPDX-License-Identifier: Apache-2.0
// Store and PointerSet: keys, indexes, exchange of the whole content.
#include "host/cache/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "host/cache/objects.h"

namespace kcm::host::cache {
namespace {

using test::Pod;

std::vector<std::string> Names(const std::vector<wire::ObjectPtr>& objects) {
  std::vector<std::string> out;
  for (const wire::ObjectPtr& o : objects) out.push_back(o->Key());
  return out;
}

std::vector<std::string> Sorted(std::vector<std::string> v) {
  std::sort(v.begin(), v.end());
  return v;
}

TEST(PointerSet, AddsAndRemovesInAnyOrder) {
  std::vector<int> things(1000);
  PointerSet set;
  std::set<const void*> want;
  uint32_t random = 7;
  for (int step = 0; step < 20000; ++step) {
    random = random * 1664525 + 1013904223;
    const void* p = &things[(random >> 8) % (step < 10000 ? 1000 : 12)];
    if (want.insert(p).second) {
      set.Add(p);
    } else {
      want.erase(p);
      set.Remove(p);
    }
    ASSERT_EQ(set.size(), want.size());
  }
  std::set<const void*> got;
  set.ForEach([&](const void* p) { EXPECT_TRUE(got.insert(p).second); });
  EXPECT_EQ(got, want);
}

TEST(Store, KeysAreNamespaceAndName) {
  Store store;
  store.Put(Pod("a", "x", 1));
  store.Put(Pod("b", "x", 2));
  store.Put(Pod("", "node", 3));
  EXPECT_EQ(store.Get("a/x")->ResourceVersion(), 1u);
  EXPECT_EQ(store.Get("b/x")->ResourceVersion(), 2u);
  EXPECT_EQ(store.Get("node")->ResourceVersion(), 3u);
  EXPECT_FALSE(store.Get("x"));
  EXPECT_FALSE(store.Get("a/"));
  EXPECT_FALSE(store.Get(""));
  EXPECT_EQ(Names(store.List("")), (std::vector<std::string>{"node", "a/x", "b/x"}));
  EXPECT_EQ(Names(store.List("a")), (std::vector<std::string>{"a/x"}));
  EXPECT_EQ(store.Remove("a", "x")->ResourceVersion(), 1u);
  EXPECT_FALSE(store.Remove("a", "x"));
  EXPECT_EQ(store.Size(), 2u);
}

TEST(Store, IndexesFollowEveryChange) {
  Store store;
  const int by_node = store.AddIndex({IndexSpec::By::kField, "spec.nodeName"});
  const int by_controller = store.AddIndex({IndexSpec::By::kControllerUid, ""});
  store.Put(Pod("a", "x", 1, "n1", "rs1"));
  store.Put(Pod("a", "y", 2, "n1"));
  const int by_label = store.AddIndex({IndexSpec::By::kLabel, "app"});  // filled from what is there
  const int by_owner = store.AddIndex({IndexSpec::By::kOwnerUid, ""});
  EXPECT_EQ(store.AddIndex({IndexSpec::By::kField, "spec.nodeName"}), by_node);
  EXPECT_EQ(store.AddIndex({IndexSpec::By::kNamespace, ""}), 0);
  EXPECT_EQ(Sorted(Names(store.ByIndex(by_node, "n1"))), (std::vector<std::string>{"a/x", "a/y"}));
  EXPECT_EQ(Names(store.ByIndex(by_controller, "rs1")), (std::vector<std::string>{"a/x"}));
  EXPECT_EQ(Names(store.ByIndex(by_controller, "orphan:a")), (std::vector<std::string>{"a/y"}));
  EXPECT_EQ(Names(store.ByIndex(by_owner, "rs1")), (std::vector<std::string>{"a/x"}));
  EXPECT_EQ(store.ByIndex(by_label, "web").size(), 2u);

  store.Put(Pod("a", "x", 3, "n2"));
  EXPECT_EQ(Names(store.ByIndex(by_node, "n1")), (std::vector<std::string>{"a/y"}));
  EXPECT_EQ(store.ByIndex(by_node, "n2")[0]->ResourceVersion(), 3u);
  EXPECT_TRUE(store.ByIndex(by_controller, "rs1").empty());
  store.Remove("a", "y");
  EXPECT_TRUE(store.ByIndex(by_node, "n1").empty());
  EXPECT_EQ(store.ByIndex(by_label, "web").size(), 1u);
  EXPECT_TRUE(store.ByIndex(99, "n1").empty());
}

TEST(Store, ReplaceGivesDeletionsFirstThenItemsInOrder) {
  Store store;
  const int by_node = store.AddIndex({IndexSpec::By::kField, "spec.nodeName"});
  store.Put(Pod("a", "gone2", 1, "n1"));
  store.Put(Pod("a", "gone1", 2, "n1"));
  store.Put(Pod("a", "kept", 3, "n1"));
  const auto changes = store.Replace(
      {Pod("a", "new", 5, "n1"), Pod("a", "kept", 4, "n2"), Pod("a", "new", 6, "n3")});
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0].old_object->Name(), "gone1");
  EXPECT_EQ(changes[1].old_object->Name(), "gone2");
  EXPECT_FALSE(changes[0].object);
  EXPECT_EQ(changes[2].old_object->ResourceVersion(), 3u);
  EXPECT_EQ(changes[2].object->ResourceVersion(), 4u);
  EXPECT_FALSE(changes[3].old_object);
  EXPECT_EQ(changes[3].object->ResourceVersion(), 6u) << "a key twice: the last wins";
  EXPECT_TRUE(store.ByIndex(by_node, "n1").empty());
  EXPECT_EQ(store.ByIndex(by_node, "n3").size(), 1u);
  EXPECT_EQ(store.Size(), 2u);
}

}  // namespace
}  // namespace kcm::host::cache
