// SPDX-License-Identifier: Apache-2.0
// Names of TLS versions and cipher suites on the command line, and what OpenSSL calls them
// (spec/host.md 1.3, 9.7).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kcm::host::config {

struct CipherSuite {
  std::string_view iana;
  std::string_view openssl;  // "" where the library does not offer it: accepted, never negotiated
  bool insecure = false;
  bool tls13 = false;  // always on with TLS 1.3, whatever the list says (as in the reference)
};
std::span<const CipherSuite> CipherSuites();
const CipherSuite* FindCipherSuite(std::string_view iana);

// Protocol number (0x0301 for 1.0 ... 0x0304 for 1.3) of VersionTLS10..13; "" is 1.2. nullopt when
// unknown.
std::optional<uint16_t> TlsVersionNumber(std::string_view name);

}  // namespace kcm::host::config
