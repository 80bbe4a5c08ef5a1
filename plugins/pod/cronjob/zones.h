// SPDX-License-Identifier: Apache-2.0
// Zones: the zone database of the machine. Reads a zone's file once.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "kcm/rules/cron.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time_zone.h"

namespace kcm::pod::cronjob {

// Thread-safe. A file that changes later is not noticed.
class Zones {
 public:
  // "" and "UTC" need no database. "Local" is what the process' environment says: TZ, else
  // /etc/localtime, else UTC. kNotFound: `unknown time zone X`; kInvalid for a name that is none.
  Result<std::shared_ptr<const rules::TimeZone>> Find(std::string_view name);
  // The same as a function. Lives as long as *this.
  rules::ZoneLookup Lookup();

 private:
  std::mutex mutex_;
  // Guarded by mutex_. Holds zones that exist: as many as the database has.
  std::map<std::string, std::shared_ptr<const rules::TimeZone>, std::less<>> known_;
};

}  // namespace kcm::pod::cronjob
