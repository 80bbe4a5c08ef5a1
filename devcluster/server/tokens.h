// SPDX-License-Identifier: Apache-2.0
// Service account tokens: JWTs signed (ES256) with a key of the server's own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "devcluster/api/strategy.h"
#include "devcluster/server/tls.h"

namespace kcm::devcluster {

// Immutable, thread-safe.
class TokenIssuer {
 public:
  // `key_pem`: a text of NewKeyPem.
  explicit TokenIssuer(const std::string& key_pem);
  bool ok() const { return key_ != nullptr; }
  static const char* Issuer() { return "https://kubernetes.default.svc"; }
  // A token with these claims; iss is added.
  std::string Sign(const Json& claims) const;
  // Claims of a token with our signature; nullopt for any other text. Times are not checked.
  std::optional<Json> Verify(std::string_view token) const;

 private:
  PrivateKey key_;
};

// The user of a verified service account token that is valid at `now` (seconds since 1970); nullopt
// when expired or malformed.
std::optional<UserInfo> UserOfClaims(const Json& claims, int64_t now);

}  // namespace kcm::devcluster
