// SPDX-License-Identifier: Apache-2.0
// FlagSet: the command line with pflag's semantics (spec/host.md 1.1), every flag of
// kube-controller-manager and our own.
//
//   FlagSet flags = FlagSet::Builtin();
//   if (auto r = flags.Declare({.section = "Acme-controller", .name = "acme-syncs", .type =
//   FlagType::kInt32,
//                               .default_text = "5", .help = "..."}); !r.ok()) ...
//   Result<std::vector<std::string>> positional = flags.Parse(args);
//   int64_t workers = flags.Int("concurrent-job-syncs");
//
// Guarantees: values are checked while parsing; an error leaves the texts of the reference. Names
// are looked up with `_` and `-` equal. A built-in flag that a plugin declares again with the same
// type and default stays one flag. Not here: rules between flags (validation.h), typed groups
// (options.h). Not thread-safe while parsing, then immutable.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::config {

enum class FlagType : uint8_t {
  kBool,
  kInt,  // 64 bits, base prefixes allowed
  kInt32,
  kFloat32,
  kFloat64,
  kDuration,
  kString,
  kStrings,      // comma separated, CSV quoting; first use replaces the default, later ones append
  kStringArray,  // repeatable, no splitting
  kInt32Slice,
  kStringMap,     // k=v,k=v
  kFeatureGates,  // [component:]Name=BOOL,...
  kIp,
  kCertKeyPairs,  // crt,key[:pattern,...], repeatable
  kLevel,         // 0..2147483647
  kVModule,       // pattern=N,...
  kQuantity,      // bytes with suffix, kept as text
  kVersion,       // --version[=true|raw|vX.Y.Z]
};

// What --help prints behind the name: "strings", "duration", ...; "" for bool.
std::string_view TypeWord(FlagType type);

struct FlagDeclaration {
  std::string section =
      {};  // heading of --help, as in "Generic"; a controller's flags use its capitalised name
  std::string name = {};  // with hyphens
  FlagType type = FlagType::kString;
  std::string default_text =
      {};  // as one would write it on the command line; "" is the type's zero value
  std::string help = {};
  std::string deprecated = {};  // message; not empty: hidden from help, use prints a notice
  char shorthand = 0;
};

using StringPairs = std::vector<std::pair<std::string, std::string>>;
using FlagValue = std::variant<bool, int64_t, double, std::chrono::nanoseconds, std::string,
                               std::vector<std::string>, std::vector<int64_t>, StringPairs>;

struct Flag {
  FlagDeclaration declaration;
  FlagValue value;
  bool changed = false;  // given on the command line
  bool workers = false;  // a number of workers, each a thread of the host (validation.h)
};

class FlagSet {
 public:
  FlagSet() = default;
  // Every flag of the reference, the deprecated ones of 1.28, and ours. The help of --controllers
  // is set by the caller.
  static FlagSet Builtin();

  // Adds a flag. Error (kAlreadyExists) when the name exists with another type (the width of a
  // number does not count: the first declaration's stays) or default; kInvalid for a bad name or a
  // default that does not parse. Declaring the same flag twice is fine: two controllers may share
  // one.
  Status Declare(FlagDeclaration declaration);
  void SetHelp(std::string_view name, std::string help);
  // Says that the number in flag `name` is one of workers. The built-in ones are known already; a
  // name that is not declared is ignored.
  void SetWorkers(std::string_view name);

  // Reads all arguments (without argv[0]) and returns the positional ones. Error: the message
  // behind "Error: ".
  // `--` ends the flags. May be called once.
  Result<std::vector<std::string>> Parse(const std::vector<std::string>& args);
  // `Flag --NAME has been deprecated, MESSAGE`, one per use, in order.
  const std::vector<std::string>& notices() const { return notices_; }

  // nullptr when not declared.
  const Flag* Find(std::string_view name) const;
  bool Changed(std::string_view name) const;
  // REQUIRES: declared, with that type (else std::logic_error: our own bug).
  bool Bool(std::string_view name) const;
  int64_t Int(std::string_view name) const;  // kInt, kInt32, kLevel
  double Float(std::string_view name) const;
  std::chrono::nanoseconds Duration(std::string_view name) const;
  const std::string& String(
      std::string_view name) const;  // kString, kIp, kVModule, kQuantity, kVersion
  const std::vector<std::string>& Strings(std::string_view name) const;  // lists of text
  const std::vector<int64_t>& Ints(std::string_view name) const;
  const StringPairs& Pairs(std::string_view name) const;
  // Replaces a list once aliases are resolved, so that dumps show what is in effect.
  void SetStrings(std::string_view name, std::vector<std::string> value);

  // The value as pflag prints it: `[a,b]`, `1m0s`, `true`. REQUIRES: declared.
  std::string Text(std::string_view name) const;
  // All flags sorted by name.
  std::vector<const Flag*> All() const;
  // `FLAG: --name="value"`, sorted.
  std::vector<std::string> DumpLines() const;
  // "Usage:" and all sections as --help shows them.
  std::string Usage(std::string_view command) const;

 private:
  Flag* FindMutable(std::string_view name);
  const Flag& Get(std::string_view name) const;
  Status ParseLong(const std::vector<std::string>& args, size_t* at);
  Status ParseShort(const std::vector<std::string>& args, size_t* at);
  Status Set(Flag* flag, const std::string& text);

  std::map<std::string, Flag, std::less<>> flags_;
  std::vector<std::string> sections_;  // in the order of first declaration
  std::vector<std::string> notices_;
};

// The values that `name` would get, read leniently: unknown flags and errors are passed over. For
// --plugin-dir, which must be known before the plugins' own flags can be declared.
std::vector<std::string> ScanFlag(const std::vector<std::string>& args, std::string_view name);

// Text to value and back, by type. `old` is what an appending type adds to, nullptr to start anew.
Result<FlagValue> ParseFlagValue(FlagType type, const std::string& text, const FlagValue* old);
std::string FormatFlagValue(FlagType type, const FlagValue& value);

}  // namespace kcm::host::config
