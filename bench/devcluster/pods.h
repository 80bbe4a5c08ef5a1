// SPDX-License-Identifier: Apache-2.0
// What the benchmark fills the server with: pods of about 5 kB of JSON as a busy cluster has them,
// and nodes.
#pragma once
#include <cstdint>
#include <string>

namespace kcm::bench {

constexpr int kNamespaces = 10;

std::string NamespaceOf(int number);
std::string NamespaceBody(const std::string& name);
std::string PodName(int number);
// A new pod as a ReplicaSet controller posts it, bound to one of `nodes` nodes.
std::string PodBody(int number, int nodes);
std::string NodeBody(int number);
// A merge patch that changes one annotation of a pod; `sent` is looked for in watch events.
std::string PatchBody(int64_t sent);
// In front of the value in an event.
constexpr const char* kSentKey = "\"bench/sent\":\"";

}  // namespace kcm::bench
