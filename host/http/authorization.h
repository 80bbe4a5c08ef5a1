// SPDX-License-Identifier: Apache-2.0
// Authorizer: may this user send this method to this path (spec/host.md 9.6).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "host/clock/clock.h"
#include "host/config/options.h"
#include "host/http/review_cache.h"
#include "host/http/review_client.h"
#include "host/http/review_retry.h"
#include "host/http/user.h"

namespace kcm::host::http {

struct Decision {
  bool allowed = false;
  std::string reason;  // of a denial; may be empty
};

// `pattern` as in --authorization-always-allow-paths: exact, or a prefix with one trailing `*`; a
// leading `/` is optional.
bool PathMatches(std::string_view pattern, std::string_view path);

// Thread-safe.
class Authorizer {
 public:
  // `client` may be nullptr: then only always allowed paths and system:masters pass.
  Authorizer(const config::AuthorizationOptions& options, ReviewClient* client,
             clock::Clock* clock);
  void Stop() { retry_.Stop(); }

  // `method` as in the request line. Error: the question could not be asked (500).
  Result<Decision> Authorize(const User& user, const std::string& method, const std::string& path);

 private:
  const config::AuthorizationOptions options_;
  ReviewClient* const client_;
  ReviewRetry retry_;
  ReviewCache<Decision> answers_;
};

}  // namespace kcm::host::http
