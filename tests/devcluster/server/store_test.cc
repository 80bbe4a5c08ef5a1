// SPDX-License-Identifier: Apache-2.0
// The store by itself, with several writers: revisions, events and what a journal gives back.
#include "devcluster/server/store.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "devcluster/server/failure.h"
#include "devcluster/server/faulty_disk.h"
#include "harness/temporary_dir.h"

namespace kcm::devcluster::test {
namespace {

using host::wire::ObjectPtr;

constexpr int kWriters = 8;
constexpr int kWritesEach = 60;

const host::wire::TypeMeta kMapType{"v1", "ConfigMap"};

ObjectPtr StoredMap(const std::string& name, int step, uint64_t revision) {
  // The data repeats the revision's text: equal texts of one object are stored once.
  const std::string rv = std::to_string(revision);
  const std::string text = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                           R"(","namespace":"default","resourceVersion":")" + rv +
                           R"(","labels":{"step":")" + std::to_string(step) +
                           R"("}},"data":{"first":")" + rv + R"("}})";
  host::wire::TypeMeta type;
  Result<ObjectPtr> object = host::wire::DecodeJson(text, {}, &type);
  return object.ok() ? *object : ObjectPtr();
}

int StepOf(const ObjectPtr& o) {
  return std::stoi(
      std::string(o->Root().Member("metadata").Member("labels").Member("step").String()));
}

class StoreTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    store_.reset();
    store_ = std::make_unique<Store>(clock_.get());
    if (GetParam()) {
      Result<std::unique_ptr<Journal>> journal = Journal::Open(dir_.path() + "/objects.sqlite");
      ASSERT_TRUE(journal.ok()) << journal.error().message;
      const Status opened = store_->Open(std::move(*journal));
      ASSERT_TRUE(opened.ok()) << opened.error().message;
    }
    one_ = store_->OpenTable("/configmaps", kMapType);
    two_ = store_->OpenTable("apps/others", kMapType);
  }
  ObjectPtr Put(Store::Table* table, const std::string& name, const ObjectPtr& expected, int step) {
    return store_->Put(*table, "default/" + name, expected,
                       [&](uint64_t revision) { return StoredMap(name, step, revision); });
  }
  ObjectPtr Remove(Store::Table* table, const std::string& name, const ObjectPtr& expected) {
    return store_->Remove(*table, "default/" + name, expected,
                          [&](uint64_t revision) { return StoredMap(name, -1, revision); });
  }

  std::unique_ptr<host::clock::Clock> clock_ = host::clock::MakeRealClock();
  harness::TemporaryDir dir_;
  std::unique_ptr<Store> store_;
  Store::Table* one_ = nullptr;
  Store::Table* two_ = nullptr;
};

TEST_P(StoreTest, ManyWritersGetRevisionsOfTheirOwnInOrder) {
  std::atomic<bool> writing{true};
  std::vector<uint64_t> seen;
  // A reader that believes the contract: everything up to revision() is there. It begins where the
  // writers do: its thread may get to run only when some of them are done.
  std::thread reader([&, cursor = store_->revision()]() mutable {
    while (writing || cursor < store_->revision()) {
      const uint64_t all = store_->revision();
      for (Store::Table* table : {one_, two_}) {
        std::vector<StoreEventPtr> events;
        uint64_t floor = 0;
        ASSERT_TRUE(store_->EventsAfter(*table, cursor, false, 10000, &events, &floor));
        for (const StoreEventPtr& e : events) {
          if (e->revision <= all) seen.push_back(e->revision);
        }
      }
      cursor = all;
    }
  });
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      const std::string name = "w" + std::to_string(w);
      Store::Table* table = w % 2 == 0 ? one_ : two_;
      ObjectPtr last;
      for (int i = 1; i <= kWritesEach; ++i) {
        const ObjectPtr next = Put(table, name, last, i);
        ASSERT_TRUE(next);
        EXPECT_GT(next->ResourceVersion(), last ? last->ResourceVersion() : 0);
        EXPECT_EQ(store_->Get(*table, "default/" + name), next);
        EXPECT_GE(store_->revision(), next->ResourceVersion());
        last = next;
      }
    });
  }
  for (std::thread& t : writers) t.join();
  writing = false;
  reader.join();
  const std::set<uint64_t> distinct(seen.begin(), seen.end());
  EXPECT_EQ(distinct.size(), static_cast<size_t>(kWriters * kWritesEach));
  EXPECT_EQ(seen.size(), distinct.size());
  EXPECT_EQ(store_->revision(), 1u + kWriters * kWritesEach);
}

TEST_P(StoreTest, TheRevisionInAnObjectIsThatOfItsWrite) {
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 20; ++i)
        Put(one_, "w" + std::to_string(w) + "-" + std::to_string(i), ObjectPtr(), i);
    });
  }
  for (std::thread& t : writers) t.join();
  std::vector<StoreEventPtr> events;
  uint64_t floor = 0;
  ASSERT_TRUE(store_->EventsAfter(*one_, 1, false, 10000, &events, &floor));
  ASSERT_EQ(events.size(), size_t{kWriters * 20});
  uint64_t last = 1;
  for (const StoreEventPtr& e : events) {
    EXPECT_EQ(e->revision, last + 1);
    EXPECT_EQ(e->object->ResourceVersion(), e->revision);
    EXPECT_EQ(e->object->Uid(), "");
    EXPECT_TRUE(e->object->whole());
    EXPECT_EQ(e->object->Root().Member("data").Member("first").String().empty(), false);
    last = e->revision;
  }
}

TEST_P(StoreTest, ALostRaceChangesNothing) {
  const ObjectPtr a = Put(one_, "a", ObjectPtr(), 1);
  const ObjectPtr b = Put(one_, "a", a, 2);
  const uint64_t revision = store_->revision();
  EXPECT_FALSE(Put(one_, "a", a, 3));
  EXPECT_FALSE(Put(one_, "a", ObjectPtr(), 3));
  EXPECT_FALSE(Remove(one_, "a", a));
  EXPECT_EQ(store_->revision(), revision);
  EXPECT_EQ(StepOf(store_->Get(*one_, "default/a")), 2);
}

TEST_P(StoreTest, CreatesWhatIsMissingOnly) {
  Put(one_, "a", ObjectPtr(), 1);
  std::vector<Store::Creation> creations;
  for (const char* name : {"a", "b", "c"}) {
    creations.push_back({one_, std::string("default/") + name,
                         [name](uint64_t revision) { return StoredMap(name, 9, revision); }});
  }
  store_->CreateMissing(creations);
  EXPECT_EQ(store_->Count(*one_), 3u);
  EXPECT_EQ(StepOf(store_->Get(*one_, "default/a")), 1);
  store_->RemoveAll(*one_);
  EXPECT_EQ(store_->Count(*one_), 0u);
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Journal, StoreTest, ::testing::Values(true));

using DurableStoreTest = StoreTest;
INSTANTIATE_TEST_SUITE_P(Journal, DurableStoreTest, ::testing::Values(true));

TEST_P(DurableStoreTest, GivesBackWhatItHeld) {
  const ObjectPtr a = Put(one_, "a", Put(one_, "a", ObjectPtr(), 1), 2);
  const ObjectPtr b = Put(two_, "b", ObjectPtr(), 3);
  Remove(one_, "gone", Put(one_, "gone", ObjectPtr(), 4));
  const uint64_t revision = store_->revision();
  Open();
  EXPECT_EQ(store_->revision(), revision);
  EXPECT_EQ(store_->NamesInUse(), (std::vector<std::string>{"/configmaps", "apps/others"}));
  for (const auto& [table, was] : {std::pair(one_, a), std::pair(two_, b)}) {
    ASSERT_EQ(store_->Count(*table), 1u);
    const ObjectPtr is = store_->Get(*table, was->Key());
    ASSERT_TRUE(is);
    EXPECT_TRUE(host::wire::DeepEqual(is->Root(), was->Root()));
  }
  // The row of an object is found again: a second start sees the change, not two objects.
  ASSERT_TRUE(Put(one_, "a", store_->Get(*one_, "default/a"), 5));
  Open();
  EXPECT_EQ(StepOf(store_->Get(*one_, "default/a")), 5);
  EXPECT_EQ(store_->revision(), revision + 1);
  std::vector<StoreEventPtr> events;
  uint64_t floor = 0;
  EXPECT_FALSE(store_->EventsAfter(*one_, revision, false, 10, &events, &floor))
      << "history starts anew";
  EXPECT_TRUE(store_->EventsAfter(*one_, revision + 1, false, 10, &events, &floor));
}

TEST_P(DurableStoreTest, AFailedWriteLeavesNoTraceAndItsKeyFree) {
  FaultyDisk disk;
  Open();
  const ObjectPtr a = Put(one_, "a", ObjectPtr(), 1);
  disk.room = 0;
  EXPECT_THROW(Put(one_, "a", a, 2), Failure);
  EXPECT_THROW(Put(one_, "b", ObjectPtr(), 2), Failure);
  EXPECT_THROW(Remove(one_, "a", a), Failure);
  EXPECT_EQ(store_->Get(*one_, "default/a"), a);
  EXPECT_FALSE(store_->Get(*one_, "default/b"));
  EXPECT_EQ(store_->revision(), a->ResourceVersion());
  disk.room = INT64_MAX;
  ASSERT_TRUE(Put(one_, "a", a, 3));
  ASSERT_TRUE(Put(one_, "b", ObjectPtr(), 3));
  store_.reset();
}

}  // namespace
}  // namespace kcm::devcluster::test
