// SPDX-License-Identifier: Apache-2.0
// LeaseRecord: what leader election reads from and writes into a Lease (spec/host.md 4.1).
// Everything else of the object is carried through untouched.
#pragma once
#include <cstdint>
#include <string>

#include "host/clock/clock.h"
#include "host/wire/object.h"

namespace kcm::host::leader {

struct LeaseRecord {
  std::string holder;
  int64_t duration_seconds = 0;
  std::string acquire_time, renew_time;  // as written: never compared with a clock of ours (T4)
  int64_t transitions = 0;
  std::string strategy, preferred_holder;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

LeaseRecord RecordOf(const wire::Object& lease);

// JSON of `lease` (null: a new object ns/name) with the record's five fields of ours in its spec.
std::string LeaseBody(const wire::Object* lease, const std::string& ns, const std::string& name,
                      const LeaseRecord& record);

}  // namespace kcm::host::leader
