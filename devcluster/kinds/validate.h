// SPDX-License-Identifier: Apache-2.0
// Validation per kind (spec C7): errors in the order and words of the API server. REQUIRES
// everywhere: defaults applied and the object canonical (types are right, absent lists are absent).
#pragma once
#include <string>

#include "devcluster/kinds/metadata.h"
#include "devcluster/kinds/resource_table.h"
#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

struct Validation {
  const KindRow& row;
  const Schema& schema;
  const RequestInfo& info;
};

FieldErrors ValidateCreate(const Validation& v, const Json& object);
// info.subresource says which part is written.
FieldErrors ValidateUpdate(const Validation& v, const Json& object, const Json& old);

// ---- parts ----
void Warn(const RequestInfo& info, std::string text);
// A member that must be >= 0 (or > 0); absent counts as fine.
void NonNegative(FieldErrors& out, const Json& object, std::string_view path,
                 const std::string& prefix = "");
void OneOf(FieldErrors& out, const Json& object, std::string_view path,
           const std::vector<std::string>& allowed, const std::string& prefix = "");
void RequiredText(FieldErrors& out, const Json& object, std::string_view path,
                  const std::string& prefix = "");
// `field is immutable` when the member differs.
void Immutable(FieldErrors& out, const Json& object, const Json& old, std::string_view path,
               const Message* message = nullptr);
// What is wrong with a workload whose template its own selector does not select.
inline constexpr char kSelectorMismatch[] = "`selector` does not match template `labels`";
FieldErrors ValidateLabelSelector(const Json* selector, const std::string& path);
// Percent or number >= 0.
void IntOrPercent(FieldErrors& out, const Json& object, std::string_view path);
// The number before the % of a well-formed percent, at most INT32_MAX.
std::optional<int64_t> PercentValue(const Json& value);
// Not every percent is limited.
void AtMost100Percent(FieldErrors& out, const Json& object, std::string_view path);

// ---- pods (validate_pod.cc) ----
FieldErrors ValidatePodSpec(const Json& spec, const std::string& path);
// Warnings about accepted pod specs.
void WarnOfPodSpec(const RequestInfo& info, const Json& spec, const std::string& path);
FieldErrors ValidatePod(const Validation& v, const Json& pod);
FieldErrors ValidatePodUpdate(const Validation& v, const Json& pod, const Json& old);

// ---- workloads (validate_workloads.cc) ----
FieldErrors ValidateWorkload(const Validation& v, const Json& object);
FieldErrors ValidateWorkloadUpdate(const Validation& v, const Json& object, const Json& old);
FieldErrors ValidateWorkloadStatus(const Validation& v, const Json& object);

// ---- jobs (validate_batch.cc) ----
FieldErrors ValidateBatch(const Validation& v, const Json& object);
FieldErrors ValidateBatchUpdate(const Validation& v, const Json& object, const Json& old);

// ---- core, storage, cluster kinds ----
// An event in the form of the core group; `reporter`: what messages call reportingComponent.
FieldErrors ValidateEvent(const Json& o, const std::string& reporter);
// One of events.k8s.io, in its own form.
FieldErrors ValidateGroupEvent(const Json& o);
FieldErrors ValidateService(const Validation& v, const Json& object);
FieldErrors ValidateServiceUpdate(const Validation& v, const Json& object, const Json& old);
FieldErrors ValidateCore(const Validation& v, const Json& object);
FieldErrors ValidateCoreUpdate(const Validation& v, const Json& object, const Json& old);
FieldErrors ValidateStorage(const Validation& v, const Json& object);
FieldErrors ValidateStorageUpdate(const Validation& v, const Json& object, const Json& old);
FieldErrors ValidateCluster(const Validation& v, const Json& object);
FieldErrors ValidateClusterUpdate(const Validation& v, const Json& object, const Json& old);

}  // namespace kcm::devcluster::kinds
