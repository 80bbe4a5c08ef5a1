// SPDX-License-Identifier: Apache-2.0
// Defaults of the served versions (spec C6), as functions on JSON. Idempotent: applying them twice
// changes nothing more.
#pragma once
#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

using Defaults = void (*)(Json& object);

// nullptr when the kind has none.
Defaults DefaultsOf(const Gvr& gvr);

// Parts shared by kinds.
void DefaultPodSpec(Json& spec);  // of pods and templates
void DefaultPodTemplate(Json& pod_template);
void DefaultPod(Json& pod);              // what only pods get, on top of DefaultPodSpec
void DefaultVolumeSource(Json& source);  // of persistent volumes
void DefaultClaimSpec(Json& spec);       // of claims, claim templates, ephemeral volumes

// Per family.
void DefaultDeployment(Json& o);
void DefaultReplicaSet(Json& o);
void DefaultDaemonSet(Json& o);
void DefaultStatefulSet(Json& o);
void DefaultReplicationController(Json& o);
void DefaultJob(Json& o);
void DefaultCronJob(Json& o);
void DefaultAutoscalerV2(Json& o);
void DefaultAutoscalerV1(Json& o);
void DefaultService(Json& o);

}  // namespace kcm::devcluster::kinds
