// SPDX-License-Identifier: Apache-2.0
// Words for the limit of open files.
#include "host/file/open_limit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "host/file/regular_file.h"

namespace kcm::host::file {
namespace {

using ::testing::HasSubstr;

// As many files as are open now, and no more, while it lives.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(lowest);
    struct rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest);
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  struct rlimit before_ {};
};

TEST(OpenLimit, ErrorsNameTheFix) {
  const NoMoreFiles none;
  const Status read = CheckRegularFile("/proc/self/status");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("too many open files: raise the limit of open files "
                                              "(ulimit -n, LimitNOFILE= of the unit)"));
  const Status enough = CheckOpenLimit();
  ASSERT_FALSE(enough.ok());
  EXPECT_THAT(enough.error().message, HasSubstr("a host needs 128 at least: raise the limit"));
}

TEST(OpenLimit, OtherErrorsStayAsTheyAre) {
  EXPECT_EQ(ErrnoText(ENOENT), "No such file or directory");
  EXPECT_THAT(ErrnoText(ENFILE), HasSubstr("fs.file-max"));
}

}  // namespace
}  // namespace kcm::host::file
