// SPDX-License-Identifier: Apache-2.0
// Service account tokens (tokens.h).
#include "devcluster/server/tokens.h"

#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include <memory>

#include "devcluster/server/convert.h"

namespace kcm::devcluster {
namespace {

constexpr size_t kHalf = 32;  // of an ES256 signature

struct FreeContext {
  void operator()(EVP_MD_CTX* c) const { EVP_MD_CTX_free(c); }
};
struct FreeSignature {
  void operator()(ECDSA_SIG* s) const { ECDSA_SIG_free(s); }
};
using Bytes = std::basic_string<unsigned char>;

Bytes ToBytes(std::string_view s) { return Bytes(s.begin(), s.end()); }

std::string SignEs256(EVP_PKEY* key, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  const Bytes in = ToBytes(text);
  size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, in.data(), in.size()) != 1) {
    return "";
  }
  Bytes der(size, 0);
  if (EVP_DigestSign(context.get(), der.data(), &size, in.data(), in.size()) != 1) return "";
  const unsigned char* p = der.data();
  const std::unique_ptr<ECDSA_SIG, FreeSignature> signature(
      d2i_ECDSA_SIG(nullptr, &p, static_cast<long>(size)));
  if (!signature) return "";
  Bytes raw(2 * kHalf, 0);
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), raw.data(), kHalf);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), raw.data() + kHalf, kHalf);
  return std::string(raw.begin(), raw.end());
}

bool VerifyEs256(EVP_PKEY* key, std::string_view text, std::string_view raw) {
  if (raw.size() != 2 * kHalf) return false;
  const Bytes bytes = ToBytes(raw);
  const std::unique_ptr<ECDSA_SIG, FreeSignature> signature(ECDSA_SIG_new());
  ECDSA_SIG_set0(signature.get(), BN_bin2bn(bytes.data(), kHalf, nullptr),
                 BN_bin2bn(bytes.data() + kHalf, kHalf, nullptr));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  const Bytes in = ToBytes(text);
  const bool ok =
      size > 0 && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), der, static_cast<size_t>(size), in.data(), in.size()) == 1;
  OPENSSL_free(der);
  return ok;
}

}  // namespace

TokenIssuer::TokenIssuer(const std::string& key_pem) : key_(ReadKeyPem(key_pem)) {}

std::string TokenIssuer::Sign(const Json& claims) const {
  Json all = claims;
  all["iss"] = Issuer();
  const std::string text =
      Base64Url(R"({"alg":"ES256","kid":"devcluster","typ":"JWT"})") + "." + Base64Url(Dump(all));
  return text + "." + Base64Url(SignEs256(key_.get(), text));
}

std::optional<Json> TokenIssuer::Verify(std::string_view token) const {
  const size_t last = token.rfind('.');
  const size_t first = token.find('.');
  if (first == std::string_view::npos || last == first || token.size() > 16 * 1024)
    return std::nullopt;
  std::string signature, claims;
  if (!DecodeBase64Url(token.substr(last + 1), &signature) ||
      !DecodeBase64Url(token.substr(first + 1, last - first - 1), &claims) ||
      !VerifyEs256(key_.get(), token.substr(0, last), signature)) {
    return std::nullopt;
  }
  Json j = Json::parse(claims, nullptr, false);
  if (!j.is_object()) return std::nullopt;
  return j;
}

std::optional<UserInfo> UserOfClaims(const Json& claims, int64_t now) {
  const Json* expiry = Find(claims, {"exp"});
  if (expiry != nullptr && expiry->is_number_integer() && expiry->get<int64_t>() <= now)
    return std::nullopt;
  const std::string ns = TextAt(claims, {"kubernetes.io", "namespace"});
  const std::string name = TextAt(claims, {"kubernetes.io", "serviceaccount", "name"});
  if (ns.empty() || name.empty()) return std::nullopt;
  UserInfo user;
  user.name = "system:serviceaccount:" + ns + ":" + name;
  user.uid = TextAt(claims, {"kubernetes.io", "serviceaccount", "uid"});
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"};
  const std::string id = TextAt(claims, {"jti"});
  if (!id.empty())
    user.extra["authentication.kubernetes.io/credential-id"] = Json::array({"JTI=" + id});
  for (const char* kind : {"pod", "node"}) {
    const std::string bound = TextAt(claims, {"kubernetes.io", kind, "name"});
    if (bound.empty()) continue;
    user.extra[std::string("authentication.kubernetes.io/") + kind + "-name"] =
        Json::array({bound});
    user.extra[std::string("authentication.kubernetes.io/") + kind + "-uid"] =
        Json::array({TextAt(claims, {"kubernetes.io", kind, "uid"})});
  }
  return user;
}

}  // namespace kcm::devcluster
