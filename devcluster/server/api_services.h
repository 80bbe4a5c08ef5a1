// SPDX-License-Identifier: Apache-2.0
// APIServices that name a service: their group-version belongs to an aggregated API server.
//
// It is announced as long as the APIService exists. While the backend answers, requests for it are
// forwarded (no watches) and aggregated discovery shows its resources; otherwise requests get 503
// and aggregated discovery marks the version stale. A group-version that this server serves itself,
// also by a CRD, is never forwarded.
//
// The condition Available says what was seen last: when the APIService or its Service was written,
// at aggregated discovery, and when a request could not be forwarded. Nothing is probed in between.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

struct BackendCall;
struct Unavailable;

// Thread-safe. Serve, ServiceChanged, Forward and Resources may block while a backend answers, 18 s
// at most unless it sends on and on.
class ApiServices {
 public:
  explicit ApiServices(State* state) : state_(state) {}
  // Once, over a store that outlived its server.
  void ServeStored();
  // After an APIService was stored (created or changed).
  void Serve(const std::string& name);
  // After it was removed.
  void Drop(const std::string& name) { Read(name); }
  // After a Service of that name was written or removed, in any namespace.
  void ServiceChanged(const std::string& service);
  // What is served, and a version without resources for each that is forwarded.
  std::shared_ptr<const ResourceSet> Announced() const;
  // The backend's answer to an authorized request, 503 without one.
  Answer Forward(const Request& request);
  // The resources of a forwarded version in the form of aggregated discovery, null when the backend
  // does not tell.
  Json Resources(const GroupVersionResources& version);

 private:
  struct Entry {
    std::string group, version;
    int64_t priority = 0;  // of the version in its group; the highest is preferred
    std::string service;   // its name
  };
  // Takes over what the stored APIService says: nullopt when there is none or it names no service.
  std::optional<Json> Read(const std::string& name);
  // The answer of the backend, nullopt with `why`.
  std::optional<Answer> Ask(const Json& api_service, const BackendCall& call, Unavailable* why);
  // Asks for the version's resources and notes in the condition what came of it.
  std::optional<Answer> Check(const std::string& name, const Json& api_service);
  // `why`: nullptr when the backend answers.
  void SetAvailable(const std::string& name, const Unavailable* why);

  State* state_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by name of the APIService; guarded by mutex_
};

// What the server announces now.
std::shared_ptr<const ResourceSet> Announced(const State& state);
inline bool IsForwarded(const GroupVersionResources& v) { return v.resources.empty(); }

}  // namespace kcm::devcluster
