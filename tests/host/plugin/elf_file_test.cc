// SPDX-License-Identifier: Apache-2.0
// CheckElf on whole, cut and foreign bytes.
#include "host/plugin/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "host/plugin/probes.h"

namespace kcm::host::plugin {
namespace {

template <class T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

TEST(ElfFile, TableOfBytes) {
  const std::string good = test::ReadAll(test::Probe("good"));
  const struct {
    const char* name;
    std::string bytes;
    Code want;
    const char* text;
  } rows[] = {
      {"a plugin", good, Code::kOk, ""},
      {"empty", "", Code::kUnavailable, "shorter than its ELF tables say"},
      {"text", "hello, world", Code::kInvalid, "not an ELF file"},
      {"an archive", "!<arch>\n" + std::string(100, 'x'), Code::kInvalid, "not an ELF file"},
      {"magic only", good.substr(0, 4), Code::kUnavailable, "shorter"},
      {"without its last byte", good.substr(0, good.size() - 1), Code::kUnavailable, "shorter"},
      {"32 bit", With<uint8_t>(good, EI_CLASS, ELFCLASS32), Code::kInvalid, "another machine"},
      {"big endian", With<uint8_t>(good, EI_DATA, ELFDATA2MSB), Code::kInvalid, "another machine"},
      {"foreign machine", With<uint16_t>(good, offsetof(Elf64_Ehdr, e_machine), EM_RISCV),
       Code::kInvalid, "(ELF machine 243)"},
      {"an object file", With<uint16_t>(good, offsetof(Elf64_Ehdr, e_type), ET_REL), Code::kInvalid,
       "not a shared object (ELF type 1)"},
      {"odd section size", With<uint16_t>(good, offsetof(Elf64_Ehdr, e_shentsize), 1),
       Code::kInvalid, "damaged ELF header"},
      {"odd segment size", With<uint16_t>(good, offsetof(Elf64_Ehdr, e_phentsize), 1),
       Code::kInvalid, "damaged ELF header"},
      {"section table beyond the end",
       With<uint64_t>(good, offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 8), Code::kUnavailable,
       "shorter"},
      {"segment table beyond the end",
       With<uint64_t>(good, offsetof(Elf64_Ehdr, e_phoff), good.size()), Code::kUnavailable,
       "shorter"},
      {"no sections", With<uint16_t>(good, offsetof(Elf64_Ehdr, e_shnum), 0), Code::kInvalid,
       "does not export kcm_plugin_entry"},
      {"no entry", test::ReadAll(test::Probe("no_entry")), Code::kInvalid,
       "does not export kcm_plugin_entry"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Status s = CheckElf(row.bytes, "x.so");
    EXPECT_EQ(s.code(), row.want) << (s.ok() ? "" : s.error().message);
    if (!s.ok()) {
      EXPECT_EQ(s.error().message.find("x.so: "), 0u) << s.error().message;
      EXPECT_NE(s.error().message.find(row.text), std::string::npos) << s.error().message;
    }
  }
}

// Every length of a prefix and many damaged headers: an answer, never a read outside (run under
// asan).
TEST(ElfFile, HostileBytesAreAnswered) {
  const std::string good = test::ReadAll(test::Probe("good"));
  for (size_t n = 0; n < good.size(); n += n < 512 ? 1 : 97)
    EXPECT_FALSE(CheckElf(good.substr(0, n), "x.so").ok()) << n;
  std::minstd_rand random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 4; ++k) {
      // Headers and tables are where offsets are: the first 1 kB and the section headers at the
      // end.
      const size_t at = (random() & 1u) != 0 ? random() % 1024 : bytes.size() - 1 - random() % 2048;
      bytes[at] = static_cast<char>(random());
    }
    (void)CheckElf(bytes, "x.so");
  }
}

}  // namespace
}  // namespace kcm::host::plugin
