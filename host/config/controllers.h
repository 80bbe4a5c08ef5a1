// SPDX-License-Identifier: Apache-2.0
// The controllers of kube-controller-manager by name, and which of them --controllers switches on
// (spec/host.md 1.4, 1.6).
//
//   ControllerNames names = ControllerNames::Builtin();
//   names.Declare("acme-controller", {"acme"}, true);        // what a vendor's plugin brings
//   auto list = names.Canonicalize({"*", "-ttl"});           // {"*", "-ttl-controller"}
//   IsEnabled(list, "ttl-controller", true) == false
#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::config {

// What else decides whether a controller runs.
enum class Kind : uint8_t {
  kOrdinary,
  kCloud,         // known by name, never runs in this process
  kServiceToken,  // not subject to --controllers; needs --service-account-private-key-file
};

struct ControllerInfo {
  std::string_view name;
  std::string_view alias;  // "" when none
  bool on_by_default = true;
  std::string_view client;        // service account and user agent suffix; "" when it has no client
  std::string_view event_source;  // source.component of its events; "" when it writes none
  std::array<std::string_view, 2> gates = {};  // feature gates that must be on
  Kind kind = Kind::kOrdinary;
};

// Table 1.6, sorted by name.
std::span<const ControllerInfo> BuiltinControllers();
// nullptr when unknown. `name` is canonical.
const ControllerInfo* FindBuiltinController(std::string_view name);

// All names one may use in --controllers. Built once at start, then immutable and thread-safe.
class ControllerNames {
 public:
  static ControllerNames Builtin();
  // A plugin's controller. Known ones may be declared again as they are; an alias that means
  // another controller, or another default for a known name, is kAlreadyExists.
  Status Declare(const std::string& name, const std::vector<std::string>& aliases,
                 bool on_by_default);

  // Canonical name for a name or alias, without "-"; nullopt when unknown.
  std::optional<std::string> Canonical(std::string_view name) const;
  // The list with aliases replaced, in both forms; unknown elements stay as they are.
  std::vector<std::string> Canonicalize(const std::vector<std::string>& list) const;
  // One `"foo" is not in the list of known controllers` for each unknown element.
  std::vector<std::string> UnknownErrors(const std::vector<std::string>& list) const;
  // Sorted.
  std::vector<std::string> All() const;
  std::vector<std::string> DisabledByDefault() const;
  // Text of --controllers in --help: how to write it, all names, those off by default.
  std::string Help() const;

 private:
  std::map<std::string, bool, std::less<>> on_by_default_;
  std::map<std::string, std::string, std::less<>> aliases_;
};

// Rule 2 of 1.4 on a canonical list: the first element that names the controller decides, then "*"
// and the default.
bool IsEnabled(const std::vector<std::string>& canonical_list, std::string_view name,
               bool on_by_default);

}  // namespace kcm::host::config
