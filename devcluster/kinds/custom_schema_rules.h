// SPDX-License-Identifier: Apache-2.0
// The checks of values against a structural schema; used by CustomSchema alone.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "devcluster/kinds/cel.h"
#include "devcluster/kinds/custom_schema.h"
#include "devcluster/kinds/regex.h"

namespace kcm::devcluster::kinds {

// Schemas, and values by their schema, are looked at this deep.
inline constexpr int kMaxSchemaDepth = 100;

// What was compiled already. Thread-safe.
struct CustomSchema::Rules {
  std::shared_ptr<const Regex> Pattern(const std::string& text);  // nullptr: does not compile
  std::optional<cel::Program> Program(const std::string& text);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Regex>> patterns_;  // guarded by mutex_
  std::map<std::string, std::optional<cel::Program>> programs_;   // guarded by mutex_
};

// One validation. Finds at most kMaxErrors errors.
class SchemaCheck {
 public:
  template <class Rules>
  explicit SchemaCheck(Rules& rules)
      : pattern_([&rules](const std::string& text) { return rules.Pattern(text); }),
        program_([&rules](const std::string& text) { return rules.Program(text); }) {}
  std::vector<FieldError> Run(const Json& schema, const Json& object, const Json* old);

 private:
  void Value(const Json& schema, const Json& value, const Json* old, const std::string& path,
             int depth);
  bool Type(const Json& schema, const Json& value, const std::string& path);
  void Text(const Json& schema, const std::string& value, const std::string& path);
  void Number(const Json& schema, const Json& value, const std::string& path);
  void List(const Json& schema, const Json& value, const Json* old, const std::string& path,
            int depth);
  void Object(const Json& schema, const Json& value, const Json* old, const std::string& path,
              int depth);
  void Combinations(const Json& schema, const Json& value, const std::string& path, int depth);
  void Expressions(const Json& schema, const Json& value, const Json* old, const std::string& path);
  bool Fits(const Json& schema, const Json& value, int depth);
  void Add(FieldError error);

  std::function<std::shared_ptr<const Regex>(const std::string&)> pattern_;
  std::function<std::optional<cel::Program>(const std::string&)> program_;
  std::vector<FieldError> errors_;
  uint64_t cost_left_ = 10'000'000;  // of all expressions together
};

}  // namespace kcm::devcluster::kinds
