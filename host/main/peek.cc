// SPDX-License-Identifier: Apache-2.0
// Declarations of plugins as flags and names.
#include "host/main/peek.h"

#include <filesystem>

#include "host/plugin/directory.h"
#include "host/plugin/image.h"

namespace kcm::host::main {
namespace {

config::FlagType TypeOf(uint32_t type) {
  switch (type) {
    case KCM_FLAG_BOOL:
      return config::FlagType::kBool;
    case KCM_FLAG_INT:
      return config::FlagType::kInt32;
    case KCM_FLAG_FLOAT:
      return config::FlagType::kFloat64;
    case KCM_FLAG_DURATION:
      return config::FlagType::kDuration;
    case KCM_FLAG_STRINGS:
      return config::FlagType::kStrings;
    default:
      return config::FlagType::kString;
  }
}

Status Declare(const plugin::PluginDeclaration& p, const std::string& file, config::FlagSet* flags,
               config::ControllerNames* names) {
  for (const plugin::ControllerDeclaration& c : p.controllers) {
    if (Status s = names->Declare(c.name, c.aliases, !c.off_by_default); !s.ok())
      return MakeError(s.code(), file + ": " + s.error().message);
    for (const plugin::FlagDeclaration& f : c.flags) {
      if (flags->Find(f.name) != nullptr)
        continue;  // one of the reference's, or shared by two controllers
      config::FlagDeclaration d;
      d.section = c.name;
      d.name = f.name;
      d.type = TypeOf(f.type);
      d.default_text = f.default_value;
      d.help = f.help;
      d.deprecated = f.deprecated;
      if (Status s = flags->Declare(std::move(d)); !s.ok())
        return MakeError(s.code(), file + ": " + s.error().message);
    }
  }
  return Ok();
}

}  // namespace

Status DeclarePlugins(const std::vector<std::string>& dirs, const std::string& trust_key,
                      config::FlagSet* flags, config::ControllerNames* names) {
  if (dirs.empty()) return Ok();
  Result<std::string> private_dir = plugin::MakePrivateDir();
  if (!private_dir.ok()) return private_dir.error();
  Status result = Ok();
  for (const std::string& dir : dirs) {
    if (!plugin::CheckDirectory(dir).ok()) continue;
    const Result<std::vector<plugin::PluginFile>> files = plugin::ScanDirectory(dir);
    if (!files.ok()) continue;
    for (const plugin::PluginFile& file : *files) {
      const Result<std::shared_ptr<plugin::Image>> image =
          plugin::Image::Load(file.path, {*private_dir, trust_key});
      if (!image.ok()) continue;
      if (result.ok()) result = Declare((*image)->declaration(), file.path, flags, names);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(*private_dir, ignored);
  return result;
}

}  // namespace kcm::host::main
