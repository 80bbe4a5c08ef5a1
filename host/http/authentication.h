// SPDX-License-Identifier: Apache-2.0
// Authenticator: from what a request carries to a User (spec/host.md 9.3).
//
// Order: front proxy's headers, client certificate, bearer token; the first success counts. Nothing
// presented is system:anonymous; something presented that proves nothing is an error (401), on
// every path.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/clock/clock.h"
#include "host/config/options.h"
#include "host/http/client_certificates.h"
#include "host/http/review_cache.h"
#include "host/http/review_client.h"
#include "host/http/review_retry.h"
#include "host/http/user.h"
#include "host/log/log.h"

namespace kcm::host::http {

// Where the front proxy puts the user.
struct ProxyHeaders {
  std::shared_ptr<const CaBundle> ca;  // nullptr: no front proxy
  std::vector<std::string> allowed_names, username, uid, group, extra_prefixes;
};

// Header names as sent, values decoded from the wire; several of one name are several pairs.
using Headers = std::vector<std::pair<std::string, std::string>>;

// Percent-decodes; malformed escapes stay as they are.
std::string PercentDecode(std::string_view text);

// Pure part: the user out of the headers, nullopt without a user name.
std::optional<User> UserFromHeaders(const ProxyHeaders& proxy, const Headers& headers);
// Token of `Authorization: Bearer TOKEN`; "" when there is none.
std::string BearerToken(const Headers& headers);

// Thread-safe.
class Authenticator {
 public:
  // `client` may be nullptr: no delegation, tokens are not looked at.
  Authenticator(const config::AuthenticationOptions& options, ReviewClient* client,
                clock::Clock* clock, log::Logger log);

  // Reads CA files and, unless told otherwise, the cluster's ConfigMap. Error: start must fail.
  Status Start();
  enum class Source : uint8_t { kFiles, kAll };  // kAll: the ConfigMap too
  // Takes over changes; failures are logged, what was known stays.
  void Refresh(Source source);
  void Stop() { retry_.Stop(); }

  // Whether clients are asked for certificates.
  bool WantsClientCertificates() const;
  // The user, or why the credentials prove nothing.
  Result<User> Authenticate(const Headers& headers, const std::vector<CertPtr>& peer);

 private:
  struct Trust {
    std::shared_ptr<const CaBundle> client_ca;
    ProxyHeaders proxy;
  };
  struct TokenAnswer {
    bool authenticated = false;
    User user;
  };
  bool LooksUpConfigMap() const;
  Status LoadFiles(Trust* trust) const;
  Status LoadConfigMap(Trust* trust) const;
  Trust Current() const;
  std::optional<User> FromProxy(const Trust& trust, const Headers& headers,
                                const std::vector<CertPtr>& peer, std::string* error) const;
  std::optional<User> FromToken(const std::string& token, std::string* error);

  const config::AuthenticationOptions options_;
  ReviewClient* const client_;
  const log::Logger log_;
  ReviewRetry retry_;
  ReviewCache<TokenAnswer> tokens_;
  mutable std::mutex mutex_;
  Trust trust_;  // guarded by mutex_
};

}  // namespace kcm::host::http
