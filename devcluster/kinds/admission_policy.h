// SPDX-License-Identifier: Apache-2.0
// ValidatingAdmissionPolicy: CEL rules that refuse, warn about or note writes (spec I, golden
// i-05).
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/cel.h"
#include "devcluster/kinds/metadata.h"

namespace kcm::devcluster::kinds {

// Compiled expressions of all policies. Thread-safe; keeps a bounded number.
class PolicyPrograms {
 public:
  Result<cel::Program> Get(const std::string& expression, const std::vector<std::string>& names);

 private:
  std::mutex mutex_;
  std::map<std::string, cel::Program> programs_;  // guarded by mutex_
};

// Asks every policy that is bound to this write. `object` is null at delete. Warnings go to
// info.warnings.
Refusal AskPolicies(const ResourceKind& kind, const Json& object, const Json* old,
                    const RequestInfo& info, PolicyPrograms& programs);

// Field errors of a policy: every expression must compile and give a bool (or a text for messages).
FieldErrors ValidatePolicy(const Json& policy);

}  // namespace kcm::devcluster::kinds
