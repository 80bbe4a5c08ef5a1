// SPDX-License-Identifier: Apache-2.0
// Bodies of the objects that the Deployment controller writes
// (spec/pod-workloads.md 4.1.4, 4.7, 4.9). Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "plugins/pod/deployment/revision.h"
#include "plugins/pod/deployment/rollout.h"

namespace kcm::pod::deployment {

inline constexpr std::string_view kHashLabel = "pod-template-hash";

// `<deployment>-<hash>`, the Deployment's part cut so that the whole is a legal name.
std::string ReplicaSetName(std::string_view deployment, std::string_view hash);

struct NewReplicaSet {
  std::string name, hash;
  int64_t replicas = 0;
  Annotations annotations;
};
// The ReplicaSet to POST.
nlohmann::json ReplicaSetBody(const Deployment& deployment, const NewReplicaSet& fresh);

// Makes the annotations of a whole object exactly these; none: the member is left out.
void SetAnnotations(nlohmann::json& object, const Annotations& annotations);
void SetAnnotation(nlohmann::json& object, std::string_view name, std::string value);
void RemoveAnnotation(nlohmann::json& object, std::string_view name);

// Takes the template of `replica_set` into a whole Deployment, without the hash label.
void TakeTemplate(nlohmann::json& deployment, rules::Node replica_set);

}  // namespace kcm::pod::deployment
