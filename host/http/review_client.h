// SPDX-License-Identifier: Apache-2.0
// ReviewClient: the requests to the API server that our endpoints' authentication and authorization
// need. The host wires it to its client; these requests are exempt from fencing (design.md 7).
#pragma once
#include <string>

#include "kcm/rules/result.h"

namespace kcm::host::http {

// Thread-safe: called from every thread that serves a request. One call is one request, no retries
// (the caller retries), with a timeout of its own (10 s at most). Neither bodies nor tokens may be
// logged.
class ReviewClient {
 public:
  virtual ~ReviewClient() = default;
  // POST authentication.k8s.io/v1 tokenreviews; the answer's JSON text.
  virtual Result<std::string> CreateTokenReview(const std::string& json) = 0;
  // POST authorization.k8s.io/v1 subjectaccessreviews.
  virtual Result<std::string> CreateSubjectAccessReview(const std::string& json) = 0;
  // GET ConfigMap kube-system/extension-apiserver-authentication. kNotFound is not a failure.
  virtual Result<std::string> GetAuthenticationConfigMap() = 0;
};

}  // namespace kcm::host::http
