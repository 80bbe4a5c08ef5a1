// SPDX-License-Identifier: Apache-2.0
#include "host/file/regular_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "harness/temporary_dir.h"

namespace kcm::host::file {
namespace {

namespace fs = std::filesystem;

class RegularFile : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(dir + "/" + name, std::ios::binary) << text;
    return dir + "/" + name;
  }
  const harness::TemporaryDir temporary;
  const std::string dir = temporary.path();
};

TEST_F(RegularFile, IsReadWholeAlsoThroughLinks) {
  const std::string bytes = std::string("a\0\n", 3) + std::string(200'000, 'x');
  const std::string path = Write("real", bytes);
  fs::create_symlink("real", dir + "/link");
  for (const std::string& name : {path, dir + "/link"}) {
    const Result<std::string> read = ReadRegularFile(name);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(*read == bytes);
    EXPECT_TRUE(CheckRegularFile(name).ok());
  }
  EXPECT_EQ(*ReadRegularFile(Write("empty", "")), "");
}

TEST_F(RegularFile, LongerThanAllowedIsRefused) {
  EXPECT_EQ(*ReadRegularFile(Write("four", "1234"), 4), "1234");
  const std::string five = Write("five", "12345");
  const Result<std::string> read = ReadRegularFile(five, 4);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, five + ": larger than 4 bytes: name another file");
}

// Would wait for a writer, never end, or read nothing: each is refused at once.
TEST_F(RegularFile, OtherKindsAreNamed) {
  ASSERT_EQ(::mkfifo((dir + "/fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", dir + "/link");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = dir + "/socket";
  std::copy(name.begin(), name.end(), address.sun_path);
  ASSERT_EQ(::bind(socket, static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof address),
            0);
  const struct {
    std::string path;
    Code code;
    std::string want;
  } rows[] = {
      {dir, Code::kInvalid, "is a directory: name a regular file"},
      {dir + "/fifo", Code::kInvalid, "is a FIFO: name a regular file"},
      {dir + "/link", Code::kInvalid, "is a FIFO: name a regular file"},
      {name, Code::kInvalid, "is a socket: name a regular file"},
      {"/dev/zero", Code::kInvalid, "is a device: name a regular file"},
      {dir + "/none", Code::kNotFound, "no such file or directory"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    const Result<std::string> read = ReadRegularFile(row.path);
    const Status checked = CheckRegularFile(row.path);
    ASSERT_FALSE(read.ok());
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(read.code(), row.code);
    EXPECT_EQ(read.error().message, "open " + row.path + ": " + row.want);
    EXPECT_EQ(checked.code(), row.code);
    EXPECT_EQ(checked.error().message, read.error().message);
  }
  ::close(socket);
}

}  // namespace
}  // namespace kcm::host::file
