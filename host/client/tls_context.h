// SPDX-License-Identifier: Apache-2.0
// TLS contexts of one server: what is trusted, which name the server must prove, which certificate
// we show (spec/host.md 2.2, 7.3). Private to host/client (includes Poco).
//
// The expected name or address is pinned in the context, so OpenSSL checks it in every handshake,
// loopback included; Poco's global SSLManager is not involved. TLS 1.2 at least.
#pragma once
#include <Poco/Net/Context.h>

#include <string>

#include "kcm/rules/result.h"

namespace kcm::host::client {

struct TlsMaterial {
  std::string ca_pem;       // the only trust; "" = system roots
  bool insecure = false;    // no verification at all
  std::string server_name;  // DNS name or address that the certificate must carry
  std::string cert_pem;     // "" = none; may hold a chain
  std::string key_pem;
};

// kInvalid with the part that is wrong; never the material itself.
Result<Poco::Net::Context::Ptr> MakeTlsContext(const TlsMaterial& material);
// Why this thread's last handshake refused the server's certificate and what to do; "" when it did
// not. Asked once: forgets it.
std::string TakeVerifyProblem();
// "" when the first certificate of `pem` is valid now (real time), else since or until when not.
std::string ValidityProblem(const std::string& pem);
// "" when `pem` holds at least one certificate.
std::string CheckCaBundle(const std::string& pem);

}  // namespace kcm::host::client
