// SPDX-License-Identifier: Apache-2.0
// Vmodule: the levels of --vmodule, "pattern=N,..." with * and ? in patterns (spec/host.md 1.3,
// logs).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kcm::host::log {

// Immutable.
class Vmodule {
 public:
  explicit Vmodule(std::string_view text);
  bool empty() const { return rules_.empty(); }
  // The level for a line from source file `file` (path or name) of logger `name`; 0 when no pattern
  // matches. First match wins.
  int LevelFor(std::string_view file, std::string_view name) const;

 private:
  struct Rule {
    std::string pattern;
    int level;
  };
  std::vector<Rule> rules_;
};

}  // namespace kcm::host::log
