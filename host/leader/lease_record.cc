// SPDX-License-Identifier: Apache-2.0
// Reads and writes Lease objects.
#include "host/leader/lease_record.h"

#include <nlohmann/json.hpp>

#include "host/wire/codec.h"

namespace kcm::host::leader {

LeaseRecord RecordOf(const wire::Object& lease) {
  const rules::Node spec = lease.Node().Get("spec");
  LeaseRecord out;
  out.holder = spec.Get("holderIdentity").String();
  out.duration_seconds = spec.Get("leaseDurationSeconds").Int();
  out.acquire_time = spec.Get("acquireTime").String();
  out.renew_time = spec.Get("renewTime").String();
  out.transitions = spec.Get("leaseTransitions").Int();
  out.strategy = spec.Get("strategy").String();
  out.preferred_holder = spec.Get("preferredHolder").String();
  return out;
}

std::string LeaseBody(const wire::Object* lease, const std::string& ns, const std::string& name,
                      const LeaseRecord& record) {
  nlohmann::json body;
  if (lease != nullptr) {
    std::string text;
    wire::EncodeJson(lease->Root(), nullptr, &text);
    body = nlohmann::json::parse(text, nullptr, false);
  }
  if (!body.is_object()) body = {{"metadata", {{"namespace", ns}, {"name", name}}}};
  body["kind"] = "Lease";
  body["apiVersion"] = "coordination.k8s.io/v1";
  nlohmann::json& spec = body["spec"];
  if (!spec.is_object()) spec = nlohmann::json::object();
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration_seconds;
  spec["acquireTime"] = record.acquire_time;
  spec["renewTime"] = record.renew_time;
  spec["leaseTransitions"] = record.transitions;
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace kcm::host::leader
