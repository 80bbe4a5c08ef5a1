// SPDX-License-Identifier: Apache-2.0
// The data directory: one server at a time, private files, clear refusals.
#include "devcluster/server/data_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "harness/temporary_dir.h"

namespace kcm::devcluster::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string WhyRefused(const std::string& path) {
  const Result<std::unique_ptr<DataDir>> d = DataDir::Open(path);
  return d.ok() ? "not refused" : d.error().message;
}

TEST(DataDirectory, OneServerAtATime) {
  harness::TemporaryDir dir;
  const std::string path = dir.path() + "/data";
  Result<std::unique_ptr<DataDir>> first = DataDir::Open(path);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_THAT(WhyRefused(path), AllOf(HasSubstr(path), HasSubstr("in use by another server"),
                                      HasSubstr(std::to_string(::getpid()))));
  first->reset();
  EXPECT_TRUE(DataDir::Open(path).ok()) << "the lock ends with its holder";
}

TEST(DataDirectory, RefusesWhatItCanNotUse) {
  harness::TemporaryDir dir;
  EXPECT_THAT(WhyRefused(dir.path() + "/no/such/parent"), HasSubstr("make its parent"));
  std::ofstream(dir.path() + "/file") << "x";
  EXPECT_THAT(WhyRefused(dir.path() + "/file"), HasSubstr("is a file: choose a directory"));
  // Nobody, not even root, makes files here.
  EXPECT_THAT(WhyRefused("/proc/self"), HasSubstr("cannot write in the data directory /proc/self"));
}

TEST(DataDirectory, KeepsAPrivateFile) {
  harness::TemporaryDir dir;
  const Result<std::unique_ptr<DataDir>> d = DataDir::Open(dir.path() + "/data");
  ASSERT_TRUE(d.ok());
  const Result<std::string> made = (*d)->ReadOrMake("key", [] { return std::string("first"); });
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, "first");
  const Result<std::string> kept = (*d)->ReadOrMake("key", [] { return std::string("second"); });
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept, "first");
  struct stat about {};
  ASSERT_EQ(::stat((*d)->File("key").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_FALSE((*d)->ReadOrMake("other", [] { return std::string(); }).ok());
}

}  // namespace
}  // namespace kcm::devcluster::test
