// SPDX-License-Identifier: Apache-2.0
// TlsEndpoint: an HTTPS server with certificates that no proper API server has. Answers every
// request with 200 "ok".
#pragma once
#include <memory>
#include <string>

#include "host/http/tls_client.h"

namespace kcm::process {

class TlsEndpoint {
 public:
  // `client_ca` (PEM): clients must show a certificate that it signed; "": none is asked for.
  // Throws std::runtime_error when it can not start.
  explicit TlsEndpoint(const test::CertAndKey& server, const std::string& client_ca = "");
  ~TlsEndpoint();
  TlsEndpoint(const TlsEndpoint&) = delete;
  TlsEndpoint& operator=(const TlsEndpoint&) = delete;
  int port() const;
  // Whether any request was answered so far.
  bool Answered() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kcm::process
