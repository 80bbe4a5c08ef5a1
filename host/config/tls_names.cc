// SPDX-License-Identifier: Apache-2.0
// Tables of TLS names.
#include "host/config/tls_names.h"

namespace kcm::host::config {
namespace {

constexpr CipherSuite kSuites[] = {
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", false, true},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", false, true},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", false, true},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_RSA_WITH_RC4_128_SHA", "", true},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", "", true},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA", true},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", true},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256", true},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", true},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384", true},
    {"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "", true},
    {"TLS_ECDHE_RSA_WITH_RC4_128_SHA", "", true},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256", true},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256", true},
};

}  // namespace

std::span<const CipherSuite> CipherSuites() { return kSuites; }

const CipherSuite* FindCipherSuite(std::string_view iana) {
  for (const CipherSuite& suite : kSuites) {
    if (suite.iana == iana) return &suite;
  }
  return nullptr;
}

std::optional<uint16_t> TlsVersionNumber(std::string_view name) {
  if (name.empty() || name == "VersionTLS12") return uint16_t{0x0303};
  if (name == "VersionTLS10") return uint16_t{0x0301};
  if (name == "VersionTLS11") return uint16_t{0x0302};
  if (name == "VersionTLS13") return uint16_t{0x0304};
  return std::nullopt;
}

}  // namespace kcm::host::config
