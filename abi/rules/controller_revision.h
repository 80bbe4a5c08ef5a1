// SPDX-License-Identifier: Apache-2.0
// ControllerRevision data: the exact bytes that a Go manager would store, their hash and their
// equality (spec/pod-workloads.md 1.15).
//
//   const std::string data = RevisionData(sts.Path("spec.template"));
//   const std::string hash = RevisionHash(data, collision_count);
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

// `{"spec":{"template":{"$patch":"replace",...}}}`: canonical bytes; send them as they are.
std::string RevisionData(Node pod_template);

// EncodeHash(FNV-1) over the data, then over the decimal collision count when there is one.
std::string RevisionHash(std::string_view data, std::optional<int64_t> collision_count);

// Same template as far as the API can tell; byte equality implies it (1.15.3).
bool RevisionDataEqual(Node x, Node y);

}  // namespace kcm::rules
