// SPDX-License-Identifier: Apache-2.0
// Declarations of plugins as flags and names.
#include "host/main/peek.h"

#include <algorithm>
#include <charconv>

#include "host/config/go_syntax.h"
#include "host/file/regular_file.h"
#include "host/plugin/crash.h"
#include "host/plugin/directory.h"
#include "host/plugin/image.h"
#include "host/plugin/private_dir.h"

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
    for (const plugin::QueueDeclaration& q : c.queues) flags->SetWorkers(q.workers_flag);
  }
  return Ok();
}

std::string Last(const std::vector<std::string>& args, std::string_view flag) {
  const std::vector<std::string> values = config::ScanFlag(args, flag);
  return values.empty() ? "" : values.back();
}

// The bound of records, as --plugin-quarantine-threshold will say once the flags are parsed.
int64_t Threshold(const std::vector<std::string>& args, const config::FlagSet& flags) {
  const std::string text = Last(args, "plugin-quarantine-threshold");
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return flags.Int("plugin-quarantine-threshold");
}

// A build that must not be mapped can not say which flags it brings: those that nobody knows are
// taken to be its, or its quarantine would keep the whole host from starting.
Status DeclareUnknown(const std::vector<std::string>& args, config::FlagSet* flags,
                      config::ControllerNames* names) {
  for (size_t at = 0; at < args.size() && args[at] != "--"; ++at) {
    const std::string& arg = args[at];
    if (!arg.starts_with("--")) continue;
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(2, equals == arg.npos ? arg.npos : equals - 2);
    if (name.empty() || flags->Find(name) != nullptr) continue;
    const bool value_follows =
        equals == arg.npos && at + 1 < args.size() && !args[at + 1].starts_with("-");
    config::FlagDeclaration d;
    d.section = "Quarantined plugins";
    d.name = name;
    d.type =
        equals != arg.npos || value_follows ? config::FlagType::kString : config::FlagType::kBool;
    d.default_text = d.type == config::FlagType::kBool ? "false" : "";
    d.help = "Not known: taken to be a flag of a plugin that is quarantined.";
    if (Status s = flags->Declare(std::move(d)); !s.ok()) return s;
  }
  for (const std::string& list : config::ScanFlag(args, "controllers")) {
    for (size_t at = 0; at <= list.size();) {
      const size_t comma = std::min(list.find(',', at), list.size());
      std::string name = list.substr(at, comma - at);
      at = comma + 1;
      if (name.starts_with("-")) name.erase(0, 1);
      if (name.empty() || name == "*" || names->Canonical(name)) continue;
      if (Status s = names->Declare(name, {}, true); !s.ok()) return s;
    }
  }
  return Ok();
}

// --help and --version: an answer about this program, not a start.
bool OnlyAsks(const std::vector<std::string>& args) {
  for (size_t at = 0; at < args.size() && args[at] != "--"; ++at) {
    const std::string& arg = args[at];
    if (arg == "-h" || arg == "--help" || arg == "--version") return true;
    for (const std::string_view flag : {"--help=", "--version="}) {
      if (!arg.starts_with(flag)) continue;
      const std::string value = arg.substr(flag.size());
      const Result<bool> wanted = config::ParseGoBool(value);
      if (value == "raw" || (wanted.ok() && *wanted)) return true;
    }
  }
  return false;
}

Status DeclareAll(const std::vector<std::string>& args, config::FlagSet* flags,
                  config::ControllerNames* names) {
  const std::string state_dir = Last(args, "plugin-state-dir");
  // Found broken only by a crash, it would be too late. Nothing is made only to answer a question.
  if (!state_dir.empty() && !OnlyAsks(args))
    if (Status s = plugin::PrepareCrashDir(state_dir); !s.ok()) return s;
  const std::vector<std::string> dirs = config::ScanFlag(args, "plugin-dir");
  if (dirs.empty()) return Ok();
  plugin::LoadOptions load{"", Last(args, "plugin-trust-key")};
  // Before anything is read with it; the other files are looked at once the flags are parsed.
  if (!load.trust_key.empty()) {
    const Status usable = file::CheckRegularFile(load.trust_key);
    if (usable.code() == Code::kInvalid)
      return MakeError(Code::kInvalid, "--plugin-trust-key: " + usable.error().message);
  }
  Result<std::string> private_dir = plugin::MakePrivateDir();
  if (!private_dir.ok()) return private_dir.error();
  // Mapping a file runs its library constructors: a crash there is to be remembered already.
  if (!state_dir.empty()) plugin::SetCrashDir(state_dir);
  bool quarantined = false;
  load.private_dir = *private_dir;
  load.admit = [&](const std::string& file, const std::string& digest) {
    const Status s = plugin::Admit(state_dir, Threshold(args, *flags), file, digest);
    quarantined = quarantined || !s.ok();
    return s;
  };
  Status result = Ok();
  for (const std::string& dir : dirs) {
    if (!plugin::CheckDirectory(dir).ok()) continue;
    const Result<std::vector<plugin::PluginFile>> files = plugin::ScanDirectory(dir);
    if (!files.ok()) continue;
    for (const plugin::PluginFile& file : *files) {
      const Result<std::shared_ptr<plugin::Image>> image = plugin::Image::Load(file.path, load);
      if (!image.ok()) continue;
      if (result.ok()) result = Declare((*image)->declaration(), file.path, flags, names);
    }
  }
  if (result.ok() && quarantined) result = DeclareUnknown(args, flags, names);
  plugin::RemovePrivateDir(*private_dir);
  return result;
}

}  // namespace

Status DeclarePlugins(const std::vector<std::string>& args, config::FlagSet* flags,
                      config::ControllerNames* names) {
  const Status declared = DeclareAll(args, flags, names);
  // What could not be looked at can not say which flags it brings.
  return !declared.ok() && OnlyAsks(args) ? DeclareUnknown(args, flags, names) : declared;
}

}  // namespace kcm::host::main
