// SPDX-License-Identifier: Apache-2.0
// What a refusal of our credentials comes to in words: which they were, where they came from, what
// to do. Only names and paths, never a credential. Thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "host/client/kubeconfig.h"

namespace kcm::host::client {

// "tokenFile /run/token of user \"kcm\" in /etc/kcm.conf".
std::string CredentialsText(const Config& config);
// What helps when the server answers 401, or takes us for system:anonymous.
std::string CredentialsFix(const Config& config);
// The same two in one, about the client certificate alone: what TLS asks for.
std::string CertificateText(const Config& config);

// Whether the text of a TLS error is the server's alert about our certificate, or about its
// absence.
bool IsCertificateAlert(std::string_view text);
// Whether an error of the API server says that it does not know who asks.
bool DoesNotKnowUs(const Error& error);

}  // namespace kcm::host::client
