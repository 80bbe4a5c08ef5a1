// SPDX-License-Identifier: Apache-2.0
// Bounded reading of ELF64: every offset is checked against the file's length.
#include "host/plugin/elf_file.h"

#include <elf.h>
#include <kcm/plugin.h>

#include <cstring>

namespace kcm::host::plugin {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr const char* kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr const char* kMachineName = "aarch64";
#else
#error "plugins are loaded on x86-64 and aarch64"
#endif

template <class T>
bool ReadAt(std::string_view bytes, uint64_t offset, T* out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(out, bytes.data() + offset, sizeof(T));
  return true;
}

bool Inside(std::string_view bytes, uint64_t offset, uint64_t length) {
  return offset <= bytes.size() && bytes.size() - offset >= length;
}

Error Short(const std::string& file) {
  return MakeError(
      Code::kUnavailable,
      file +
          ": shorter than its ELF tables say: still being copied, or truncated; copy it again "
          "(write to a temporary name, then rename)");
}

// True when the dynamic symbol table defines the entry symbol. The table's strings are those of its
// linked section.
bool ExportsEntry(std::string_view bytes, const Elf64_Ehdr& h) {
  for (uint16_t i = 0; i < h.e_shnum; ++i) {
    Elf64_Shdr s{}, strings{};
    if (!ReadAt(bytes, h.e_shoff + uint64_t{i} * sizeof(s), &s) || s.sh_type != SHT_DYNSYM)
      continue;
    if (s.sh_link >= h.e_shnum ||
        !ReadAt(bytes, h.e_shoff + uint64_t{s.sh_link} * sizeof(s), &strings))
      return false;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      if (!ReadAt(bytes, s.sh_offset + at, &symbol)) return false;
      const uint64_t name = strings.sh_offset + symbol.st_name;
      constexpr std::string_view kEntry = KCM_PLUGIN_SYMBOL;
      if (symbol.st_shndx != SHN_UNDEF && Inside(bytes, name, kEntry.size() + 1) &&
          std::string_view(bytes.data() + name, kEntry.size() + 1) ==
              std::string_view(KCM_PLUGIN_SYMBOL, kEntry.size() + 1))
        return true;
    }
  }
  return false;
}

}  // namespace

Status CheckElf(std::string_view bytes, const std::string& file) {
  if (bytes.empty()) return Short(file);
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return MakeError(
        Code::kInvalid,
        file + ": not an ELF file: a plugin is a shared object built for this machine");
  Elf64_Ehdr h{};
  if (!ReadAt(bytes, 0, &h)) return Short(file);
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
      h.e_machine != kMachine)
    return MakeError(Code::kInvalid, file + ": built for another machine (ELF machine " +
                                         std::to_string(h.e_machine) + "), this host is " +
                                         kMachineName + ": rebuild the plugin for it");
  if (h.e_type != ET_DYN)
    return MakeError(Code::kInvalid, file + ": not a shared object (ELF type " +
                                         std::to_string(h.e_type) + "): link it with -shared");
  if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_phentsize != sizeof(Elf64_Phdr))
    return MakeError(Code::kInvalid, file + ": damaged ELF header: copy the file again");
  if (!Inside(bytes, h.e_shoff, uint64_t{h.e_shnum} * sizeof(Elf64_Shdr)) ||
      !Inside(bytes, h.e_phoff, uint64_t{h.e_phnum} * sizeof(Elf64_Phdr)))
    return Short(file);
  for (uint16_t i = 0; i < h.e_phnum; ++i) {
    Elf64_Phdr p{};
    if (ReadAt(bytes, h.e_phoff + uint64_t{i} * sizeof(p), &p) &&
        !Inside(bytes, p.p_offset, p.p_filesz))
      return Short(file);
  }
  for (uint16_t i = 0; i < h.e_shnum; ++i) {
    Elf64_Shdr s{};
    if (ReadAt(bytes, h.e_shoff + uint64_t{i} * sizeof(s), &s) && s.sh_type != SHT_NOBITS &&
        !Inside(bytes, s.sh_offset, s.sh_size))
      return Short(file);
  }
  if (!ExportsEntry(bytes, h))
    return MakeError(Code::kInvalid, file + ": does not export " KCM_PLUGIN_SYMBOL
                                            ": not a plugin (see docs/writing-a-plugin.md)");
  return Ok();
}

}  // namespace kcm::host::plugin
