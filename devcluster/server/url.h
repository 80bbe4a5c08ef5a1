// SPDX-License-Identifier: Apache-2.0
// Paths and queries of the API (spec/apiserver A4).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kcm::devcluster {

// %XX and (in queries) + decoded; broken escapes are kept as they are.
std::string UrlDecode(std::string_view text, bool plus_is_space);

// Query parameters; the first value of a name counts.
class Query {
 public:
  explicit Query(std::string_view text);
  bool Has(std::string_view name) const { return values_.find(name) != values_.end(); }
  std::string Get(std::string_view name) const;
  const std::vector<std::string>* All(std::string_view name) const;
  // Anything but absent, "", "0" and "false" is true.
  bool Flag(std::string_view name) const;
  // nullopt when absent or empty. Throws Failure 400 with Go's text for anything but an integer.
  std::optional<int64_t> Integer(std::string_view name) const;
  void Set(const std::string& name, std::string value) { values_[name] = {std::move(value)}; }
  bool empty() const { return values_.empty(); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

struct Target {
  enum class Kind { kOther, kGroupList, kGroup, kVersion, kResource };
  Kind kind = Kind::kOther;
  bool core = false;  // below /api
  std::string group, version;
  std::string ns, resource, name, subresource, rest;
  bool legacy_watch = false;          // /api/v1/watch/...
  std::vector<std::string> segments;  // decoded, of the whole path
};

Target ParsePath(std::string_view path);

}  // namespace kcm::devcluster
