// SPDX-License-Identifier: Apache-2.0
// CaBundle: certificate authorities, and whether a client's certificate comes from one of them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "host/http/openssl_handles.h"
#include "host/http/user.h"
#include "kcm/rules/result.h"

namespace kcm::host::http {

// Immutable and thread-safe.
class CaBundle {
 public:
  // Error: no certificate in `pem`. `what` names it in messages.
  static Result<std::shared_ptr<const CaBundle>> Parse(const std::string& pem,
                                                       const std::string& what);

  // Ok when `chain` (leaf first) is a client certificate of one of these authorities and valid now
  // (real time).
  Status Verify(const std::vector<CertPtr>& chain) const;

 private:
  CaBundle() = default;
  StorePtr store_;
};

std::string CommonNameOf(X509* cert);
// User of a client certificate: name = CN, groups = O values, extra = the certificate's digest.
// Error without CN.
Result<User> UserOf(X509* leaf);

}  // namespace kcm::host::http
