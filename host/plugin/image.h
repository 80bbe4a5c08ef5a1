// SPDX-License-Identifier: Apache-2.0
// Image: one build of a plugin, mapped from a private copy of its file. Every load gets a path of
// its own, so an overwritten file never changes mapped code and two generations are never mistaken
// for one by the dynamic loader.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "host/plugin/crash.h"
#include "host/plugin/declaration.h"
#include "host/plugin/object_handle.h"
#include "kcm/rules/result.h"

namespace kcm::host::plugin {

struct LoadOptions {
  std::string private_dir;  // for copies; exists, mode 0700, ours (private_dir.h)
  std::string trust_key;  // PEM file with Ed25519 public keys; empty: signatures are not asked for
  // Asked before the file is mapped, as mapping runs its library constructors (crash.h). Null: yes.
  std::function<Status(const std::string& file, const std::string& digest)> admit = {};
};

// Immutable but for the counters. Shared by the generations that run from it; the last owner unmaps
// it.
class Image {
 public:
  // The whole procedure of design 9 for one file: rights, completeness, signature, private copy,
  // ELF checks, mapping, declaration. Code::kUnavailable: the file is not complete yet. A refused
  // file leaves nothing mapped.
  // A crash while it is mapped or unmapped is attributed to the file.
  static Result<std::shared_ptr<Image>> Load(const std::string& file, const LoadOptions& options);
  ~Image();

  const PluginDeclaration& declaration() const { return declaration_; }
  const std::string& file() const { return file_; }  // as the operator named it
  const std::string& private_path() const { return private_path_; }
  const std::string& digest() const { return digest_; }  // SHA-256 of the bytes, hex
  std::string_view build() const {
    return std::string_view(digest_).substr(0, kBuildLength);
  }                                                 // names the build in crash records
  HandleCount handles() const { return handles_; }  // object handles its code has out

  // Unmaps. False: the loader kept it (a thread-local, a unique symbol); it is then left alone and
  // stays counted.
  bool Unload();
  // True while the private copy appears in this process' memory map.
  bool Mapped() const;

 private:
  Image() = default;
  struct Library;
  std::string file_, private_path_, digest_;
  PluginDeclaration declaration_;
  std::unique_ptr<Library> library_;
  HandleCount handles_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace kcm::host::plugin
