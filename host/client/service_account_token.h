// SPDX-License-Identifier: Apache-2.0
// ServiceAccountToken: tokens of kube-system/<name> by TokenRequest, for
// --use-service-account-credentials (spec/host.md 3.3).
//
// A token is used until 80 % of its real lifetime have passed; a failed refresh keeps the old one;
// a 401 drops it. A missing account is (re-)created. Sharing one account between controllers is
// sharing the TokenSource. Tokens are never logged.
#pragma once
#include <memory>
#include <string>

#include "host/client/client.h"

namespace kcm::host::client {

struct ServiceAccountTokenOptions {
  std::shared_ptr<Client> client{};  // root identity; fenced like any writer (design 7)
  std::string ns = "kube-system";
  std::string name{};  // Client of table 1.6
  clock::Clock* clock = nullptr;
  log::Logger log{};
  Cancellation* cancel = nullptr;  // ends fetches early; may be null. Outlives the source
};

// 3.3 step 1: the account exists afterwards. An error fails the start of the controllers.
Status EnsureServiceAccount(const ServiceAccountTokenOptions& options);
// Step 2..4, 8. Fetches at the first Token(). Thread-safe; concurrent callers share one fetch.
std::shared_ptr<TokenSource> MakeServiceAccountTokenSource(ServiceAccountTokenOptions options);

}  // namespace kcm::host::client
