// SPDX-License-Identifier: Apache-2.0
// The journal by itself: what it keeps, what it refuses, what a full or broken disk does.
#include "devcluster/server/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "devcluster/server/faulty_disk.h"
#include "harness/temporary_dir.h"

namespace kcm::devcluster::test {
namespace {

using ::testing::HasSubstr;

using Rows = std::map<uint64_t, std::string>;

class JournalTest : public ::testing::Test {
 protected:
  std::string File() const { return dir_.path() + "/objects.sqlite"; }

  std::unique_ptr<Journal> OpenOrDie() {
    Result<std::unique_ptr<Journal>> j = Journal::Open(File());
    EXPECT_TRUE(j.ok()) << j.error().message;
    return j.ok() ? std::move(*j) : nullptr;
  }
  std::string WhyRefused() {
    const Result<std::unique_ptr<Journal>> j = Journal::Open(File());
    return j.ok() ? "not refused" : j.error().message;
  }
  void Sql(const std::string& statements) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(File().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  static Rows Load(Journal& j) {
    Rows rows;
    const Status s = j.Load([&](const Journal::Row& r) {
      rows[r.id] = std::string(r.table) + " " + std::string(r.key) + "@" +
                   std::to_string(r.revision) + " " + std::string(r.body);
      return Ok();
    });
    EXPECT_TRUE(s.ok()) << s.error().message;
    return rows;
  }
  static Journal::Change Put(uint64_t id, uint64_t revision, std::string body) {
    Journal::Change c;
    c.id = id;
    c.table = "/pods";
    c.key = "default/p";
    c.revision = revision;
    c.body = std::move(body);
    return c;
  }
  static Journal::Change Gone(uint64_t id, uint64_t revision) {
    Journal::Change c;
    c.id = id;
    c.table = "/pods";
    c.key = "default/p";
    c.revision = revision;
    c.remove = true;
    return c;
  }

  harness::TemporaryDir dir_;
};

TEST_F(JournalTest, KeepsWhatWasAppendedAndTheHighestRevision) {
  {
    const auto j = OpenOrDie();
    EXPECT_EQ(j->revision(), 1u);
    EXPECT_TRUE(Load(*j).empty());
    ASSERT_TRUE(j->Append({Put(2, 2, "a"), Put(3, 3, "b")}).ok());
    ASSERT_TRUE(j->Append({Put(2, 4, "a2")}).ok());
    ASSERT_TRUE(j->Append({Gone(3, 5)}).ok());
  }
  const auto j = OpenOrDie();
  EXPECT_EQ(j->revision(), 5u) << "the revision of a deletion is used too";
  EXPECT_EQ(Load(*j), (Rows{{2, "/pods default/p@4 a2"}}));
}

TEST_F(JournalTest, FilesAreForTheOwnerOnly) {
  const auto j = OpenOrDie();
  ASSERT_TRUE(j->Append({Put(2, 2, "secret")}).ok());
  for (const char* suffix : {"", "-wal"}) {
    struct stat about {};
    ASSERT_EQ(::stat((File() + suffix).c_str(), &about), 0) << suffix;
    EXPECT_EQ(about.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(JournalTest, RefusesWhatIsNotItsOwn) {
  std::ofstream(File()) << std::string(9000, 'x');
  EXPECT_THAT(WhyRefused(), HasSubstr("is not a database"));
  std::filesystem::remove(File());
  Sql("CREATE TABLE photos (id INTEGER)");
  EXPECT_THAT(WhyRefused(), HasSubstr("a database of another program"));
  std::filesystem::remove(File());
  OpenOrDie().reset();
  Sql("PRAGMA user_version = 7");
  EXPECT_THAT(WhyRefused(), HasSubstr("has format 7, this server reads 1"));
}

TEST_F(JournalTest, RefusesDamage) {
  ASSERT_TRUE(OpenOrDie()->Append({Put(2, 2, "good")}).ok());
  Sql("UPDATE objects SET body = 'evil'");
  const auto j = OpenOrDie();
  const Status s = j->Load([](const Journal::Row&) { return Ok(); });
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("damaged at /pods default/p"));
}

TEST_F(JournalTest, RefusesACounterBehindItsObjects) {
  ASSERT_TRUE(OpenOrDie()->Append({Put(2, 20, "good")}).ok());
  Sql("UPDATE counter SET revision = 19");
  EXPECT_THAT(WhyRefused(), HasSubstr("revision counter"));
}

TEST_F(JournalTest, RefusesATruncatedFile) {
  {
    const auto j = OpenOrDie();
    for (uint64_t r = 2; r < 40; ++r)
      ASSERT_TRUE(j->Append({Put(r, r, std::string(20000, 'x'))}).ok());
  }
  std::filesystem::resize_file(File(), std::filesystem::file_size(File()) / 2);
  const Result<std::unique_ptr<Journal>> j = Journal::Open(File());
  const Status s = j.ok() ? (*j)->Load([](const Journal::Row&) { return Ok(); }) : j.error();
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("malformed"));
}

TEST_F(JournalTest, AFullDiskRefusesAWholeTransactionAndRecovers) {
  FaultyDisk disk;
  auto j = OpenOrDie();
  ASSERT_TRUE(j->Append({Put(2, 2, "a")}).ok());
  disk.room = 30000;
  const Status full = j->Append({Put(3, 3, "b"), Put(4, 4, std::string(100000, 'x'))});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.code(), Code::kUnavailable);
  EXPECT_THAT(full.error().message, HasSubstr("free space"));
  EXPECT_EQ(Load(*j).size(), 1u) << "reads go on, nothing is half there";
  disk.room = INT64_MAX;
  ASSERT_TRUE(j->Append({Put(5, 5, "c")}).ok());
  j.reset();
  j = OpenOrDie();
  EXPECT_EQ(Load(*j), (Rows{{2, "/pods default/p@2 a"}, {5, "/pods default/p@5 c"}}));
}

TEST_F(JournalTest, AFailedFsyncEndsWritingForGood) {
  FaultyDisk disk;
  auto j = OpenOrDie();
  ASSERT_TRUE(j->Append({Put(2, 2, "a")}).ok());
  disk.sync_fails = true;
  const Status broken = j->Append({Put(3, 3, "b")});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.code(), Code::kInternal);
  disk.sync_fails = false;
  const Status after = j->Append({Put(4, 4, "c")});
  ASSERT_FALSE(after.ok()) << "pages of the failed write may be lost without a further error";
  EXPECT_THAT(after.error().message, HasSubstr("restart the server"));
  EXPECT_EQ(Load(*j).size(), 1u);
}

}  // namespace
}  // namespace kcm::devcluster::test
