// SPDX-License-Identifier: Apache-2.0
// FlagSet: table, parsing, lookups (spec/host.md 1.1, 1.3).
#include "host/config/flags.h"

#include <algorithm>
#include <stdexcept>

#include "host/config/go_syntax.h"
#include "host/config/version.h"
#include "kcm/rules/go_quote.h"

namespace kcm::host::config {
namespace {

struct FlagRow {
  std::string_view section, name;
  FlagType type;
  std::string_view default_text, help, deprecated;
  char shorthand;
};
constexpr FlagRow kFlagTable[] = {
#include "host/config/flag_table.inc"
};

std::string Normal(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

bool ValidName(std::string_view name) {
  return !name.empty() && name.front() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == name.npos;
}

// What an empty default means, as one would write it.
std::string ZeroText(FlagType type) {
  switch (type) {
    case FlagType::kBool:
    case FlagType::kVersion:
      return "false";
    case FlagType::kInt:
    case FlagType::kInt32:
    case FlagType::kFloat32:
    case FlagType::kFloat64:
    case FlagType::kLevel:
    case FlagType::kQuantity:
      return "0";
    case FlagType::kDuration:
      return "0s";
    default:
      return "";
  }
}

Result<FlagValue> DefaultOf(const FlagDeclaration& declaration) {
  const std::string& text = declaration.default_text;
  if (text.empty() && declaration.type == FlagType::kIp) return FlagValue(std::string());
  if (text.empty() && declaration.type == FlagType::kCertKeyPairs)
    return FlagValue(std::vector<std::string>());
  return ParseFlagValue(declaration.type, text.empty() ? ZeroText(declaration.type) : text,
                        nullptr);
}

bool Appends(FlagType type) {
  return type == FlagType::kStrings || type == FlagType::kStringArray ||
         type == FlagType::kInt32Slice || type == FlagType::kStringMap ||
         type == FlagType::kFeatureGates || type == FlagType::kCertKeyPairs;
}

// The plugin interface knows one integer and one float type: a declaration does not have to repeat
// the built-in's width.
bool SameKind(FlagType a, FlagType b) {
  const auto kind = [](FlagType t) {
    if (t == FlagType::kInt) return FlagType::kInt32;
    return t == FlagType::kFloat32 ? FlagType::kFloat64 : t;
  };
  return kind(a) == kind(b);
}

// Flags that may stand alone; what they then mean.
const char* ValueWhenAlone(FlagType type) {
  return type == FlagType::kBool || type == FlagType::kVersion ? "true" : nullptr;
}

// `--foo`, or `-v, --v` for a flag with a short form.
std::string Spelled(const FlagDeclaration& declaration) {
  const std::string spelled = "--" + declaration.name;
  return declaration.shorthand == 0 ? spelled
                                    : std::string("-") + declaration.shorthand + ", " + spelled;
}

}  // namespace

FlagSet FlagSet::Builtin() {
  FlagSet set;
  for (const FlagRow& row : kFlagTable) {
    const Status added = set.Declare({std::string(row.section), std::string(row.name), row.type,
                                      std::string(row.default_text), std::string(row.help),
                                      std::string(row.deprecated), row.shorthand});
    if (!added.ok()) throw std::logic_error("flag table: " + added.error().message);
    if (row.name.find("concurrent-") != row.name.npos && row.name.ends_with("-syncs"))
      set.SetWorkers(row.name);
  }
  return set;
}

Status FlagSet::Declare(FlagDeclaration declaration) {
  if (!ValidName(declaration.name)) {
    return MakeError(Code::kInvalid,
                     "flag " + rules::GoQuote(declaration.name) +
                         ": a name is made of a-z, 0-9 and -, and does not begin with -");
  }
  Result<FlagValue> value = DefaultOf(declaration);
  if (!value.ok()) {
    return MakeError(Code::kInvalid, "flag --" + declaration.name + ": default " +
                                         rules::GoQuote(declaration.default_text) +
                                         " is invalid: " + value.error().message);
  }
  if (const Flag* known = Find(declaration.name); known != nullptr) {
    const Result<FlagValue> known_default = DefaultOf(known->declaration);
    if (SameKind(known->declaration.type, declaration.type) && known_default.ok() &&
        *known_default == *value)
      return Ok();
    return MakeError(Code::kAlreadyExists,
                     "flag --" + declaration.name + " is declared twice: as " +
                         std::string(TypeWord(known->declaration.type)) + " with default " +
                         rules::GoQuote(known->declaration.default_text) + " and as " +
                         std::string(TypeWord(declaration.type)) + " with default " +
                         rules::GoQuote(declaration.default_text) + "; rename one");
  }
  if (std::find(sections_.begin(), sections_.end(), declaration.section) == sections_.end()) {
    sections_.push_back(declaration.section);
  }
  std::string name = declaration.name;
  flags_.emplace(std::move(name), Flag{std::move(declaration), *std::move(value), false});
  return Ok();
}

void FlagSet::SetWorkers(std::string_view name) {
  if (Flag* flag = FindMutable(name); flag != nullptr) flag->workers = true;
}

void FlagSet::SetHelp(std::string_view name, std::string help) {
  if (Flag* flag = FindMutable(name); flag != nullptr) flag->declaration.help = std::move(help);
}

Flag* FlagSet::FindMutable(std::string_view name) {
  const auto it = flags_.find(Normal(name));
  return it == flags_.end() ? nullptr : &it->second;
}

const Flag* FlagSet::Find(std::string_view name) const {
  const auto it = flags_.find(Normal(name));
  return it == flags_.end() ? nullptr : &it->second;
}

Status FlagSet::Set(Flag* flag, const std::string& text) {
  const FlagDeclaration& d = flag->declaration;
  const FlagValue* old = flag->changed && Appends(d.type) ? &flag->value : nullptr;
  Result<FlagValue> value = ParseFlagValue(d.type, text, old);
  if (value.ok() && d.type == FlagType::kVersion) {
    const Status valid = CheckVersionFlag(text);
    if (!valid.ok()) value = valid.error();
  }
  if (!value.ok()) {
    return MakeError(Code::kInvalid, "invalid argument " + rules::GoQuote(text) + " for " +
                                         rules::GoQuote(Spelled(d)) +
                                         " flag: " + value.error().message);
  }
  flag->value = *std::move(value);
  flag->changed = true;
  if (!d.deprecated.empty())
    notices_.push_back("Flag --" + d.name + " has been deprecated, " + d.deprecated);
  return Ok();
}

Status FlagSet::ParseLong(const std::vector<std::string>& args, size_t* at) {
  const std::string& arg = args[*at];
  const size_t equals = arg.find('=');
  const std::string name = arg.substr(2, equals == arg.npos ? arg.npos : equals - 2);
  if (name.empty() || name.front() == '-')
    return MakeError(Code::kInvalid, "bad flag syntax: " + arg);
  Flag* flag = FindMutable(name);
  if (flag == nullptr) return MakeError(Code::kInvalid, "unknown flag: --" + name);
  if (equals != arg.npos) return Set(flag, arg.substr(equals + 1));
  if (const char* alone = ValueWhenAlone(flag->declaration.type); alone != nullptr)
    return Set(flag, alone);
  if (*at + 1 >= args.size()) return MakeError(Code::kInvalid, "flag needs an argument: --" + name);
  return Set(flag, args[++*at]);
}

// `-v4`, `-v 4`, `-v=4`, `-hv4`.
Status FlagSet::ParseShort(const std::vector<std::string>& args, size_t* at) {
  const std::string arg = args[*at];
  std::string_view rest = std::string_view(arg).substr(1);
  while (!rest.empty()) {
    const char c = rest.front();
    const auto it = std::find_if(flags_.begin(), flags_.end(), [c](const auto& entry) {
      return entry.second.declaration.shorthand == c;
    });
    if (it == flags_.end()) {
      return MakeError(Code::kInvalid, "unknown shorthand flag: '" + std::string(1, c) + "' in -" +
                                           std::string(rest));
    }
    if (rest.size() > 2 && rest[1] == '=') return Set(&it->second, std::string(rest.substr(2)));
    if (const char* alone = ValueWhenAlone(it->second.declaration.type); alone != nullptr) {
      const Status set = Set(&it->second, alone);
      if (!set.ok()) return set;
      rest.remove_prefix(1);
      continue;
    }
    if (rest.size() > 1) return Set(&it->second, std::string(rest.substr(1)));
    if (*at + 1 >= args.size()) {
      return MakeError(Code::kInvalid, "flag needs an argument: '" + std::string(1, c) + "' in -" +
                                           std::string(rest));
    }
    return Set(&it->second, args[++*at]);
  }
  return Ok();
}

Result<std::vector<std::string>> FlagSet::Parse(const std::vector<std::string>& args) {
  std::vector<std::string> positional;
  for (size_t at = 0; at < args.size(); ++at) {
    const std::string& arg = args[at];
    if (arg == "--") {
      positional.insert(positional.end(), args.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                        args.end());
      break;
    }
    if (arg.size() < 2 || arg.front() != '-') {
      positional.push_back(arg);
      continue;
    }
    const Status parsed = arg[1] == '-' ? ParseLong(args, &at) : ParseShort(args, &at);
    if (!parsed.ok()) return parsed.error();
  }
  return positional;
}

const Flag& FlagSet::Get(std::string_view name) const {
  const Flag* flag = Find(name);
  if (flag == nullptr) throw std::logic_error("no flag --" + std::string(name));
  return *flag;
}

bool FlagSet::Changed(std::string_view name) const {
  const Flag* flag = Find(name);
  return flag != nullptr && flag->changed;
}
bool FlagSet::Bool(std::string_view name) const { return std::get<bool>(Get(name).value); }
int64_t FlagSet::Int(std::string_view name) const { return std::get<int64_t>(Get(name).value); }
double FlagSet::Float(std::string_view name) const { return std::get<double>(Get(name).value); }
std::chrono::nanoseconds FlagSet::Duration(std::string_view name) const {
  return std::get<std::chrono::nanoseconds>(Get(name).value);
}
const std::string& FlagSet::String(std::string_view name) const {
  return std::get<std::string>(Get(name).value);
}
const std::vector<std::string>& FlagSet::Strings(std::string_view name) const {
  return std::get<std::vector<std::string>>(Get(name).value);
}
const std::vector<int64_t>& FlagSet::Ints(std::string_view name) const {
  return std::get<std::vector<int64_t>>(Get(name).value);
}
const StringPairs& FlagSet::Pairs(std::string_view name) const {
  return std::get<StringPairs>(Get(name).value);
}

void FlagSet::SetStrings(std::string_view name, std::vector<std::string> value) {
  Flag* flag = FindMutable(name);
  if (flag == nullptr) throw std::logic_error("no flag --" + std::string(name));
  flag->value = std::move(value);
}

std::string FlagSet::Text(std::string_view name) const {
  const Flag& flag = Get(name);
  return FormatFlagValue(flag.declaration.type, flag.value);
}

std::vector<const Flag*> FlagSet::All() const {
  std::vector<const Flag*> all;
  for (const auto& [name, flag] : flags_) all.push_back(&flag);
  return all;
}

std::vector<std::string> FlagSet::DumpLines() const {
  std::vector<std::string> lines;
  for (const auto& [name, flag] : flags_) {
    lines.push_back("FLAG: --" + name + "=" +
                    rules::GoQuote(FormatFlagValue(flag.declaration.type, flag.value)));
  }
  return lines;
}

std::vector<std::string> ScanFlag(const std::vector<std::string>& args, std::string_view name) {
  std::vector<std::string> values;
  for (size_t at = 0; at < args.size() && args[at] != "--"; ++at) {
    const std::string& arg = args[at];
    if (!arg.starts_with("--")) continue;
    const size_t equals = arg.find('=');
    if (Normal(arg.substr(2, equals == arg.npos ? arg.npos : equals - 2)) != Normal(name)) continue;
    if (equals != arg.npos) {
      values.push_back(arg.substr(equals + 1));
    } else if (at + 1 < args.size()) {
      values.push_back(args[++at]);
    }
  }
  return values;
}

}  // namespace kcm::host::config
