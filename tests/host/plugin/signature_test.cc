// SPDX-License-Identifier: Apache-2.0
// Detached Ed25519 signatures.
#include "host/plugin/signature.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <filesystem>
#include <memory>

#include "harness/temporary_dir.h"
#include "host/plugin/image.h"
#include "host/plugin/probes.h"

namespace kcm::host::plugin {
namespace {

using harness::TemporaryDir;
using test::WriteAll;

class Signer {
 public:
  explicit Signer(int type = EVP_PKEY_ED25519) {
    EVP_PKEY_CTX* ctx = EVP_PKEY_CTX_new_id(type, nullptr);
    EVP_PKEY_keygen_init(ctx);
    EVP_PKEY_keygen(ctx, &key_);
    EVP_PKEY_CTX_free(ctx);
  }
  ~Signer() { EVP_PKEY_free(key_); }
  std::string PublicPem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(bio, key_);
    char* data = nullptr;
    const long n = BIO_get_mem_data(bio, &data);
    std::string out(data, static_cast<size_t>(n));
    BIO_free(bio);
    return out;
  }
  std::string Sign(const std::string& bytes) const {
    EVP_MD_CTX* ctx = EVP_MD_CTX_new();
    std::string out(64, '\0');
    size_t n = out.size();
    EVP_DigestSignInit(ctx, nullptr, nullptr, nullptr, key_);
    EVP_DigestSign(ctx, reinterpret_cast<unsigned char*>(out.data()), &n,
                   reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    EVP_MD_CTX_free(ctx);
    return out;
  }
  static std::string Base64(const std::string& raw) {
    std::string out(4 * ((raw.size() + 2) / 3), '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                    reinterpret_cast<const unsigned char*>(raw.data()),
                    static_cast<int>(raw.size()));
    return out;
  }

 private:
  EVP_PKEY* key_ = nullptr;
};

TEST(PluginSignature, TableOfSignatures) {
  TemporaryDir dir;
  const Signer ours, second, stranger;
  WriteAll(dir / "keys.pem", second.PublicPem() + ours.PublicPem());
  WriteAll(dir / "none.pem", "no key here\n");
  const std::string bytes = "the bytes of a plugin";
  const std::string good = ours.Sign(bytes);
  const std::string keys = dir / "keys.pem";
  const std::string odd =
      "p.so.sig: not an Ed25519 signature (64 bytes, or their base64 text): sign the file again";
  const std::string wrong = "p.so: its signature does not verify with any key of " + keys +
                            ": use the signed build or add its key";
  const struct {
    const char* name;
    std::string signature, keys, want;
  } rows[] = {
      {"raw", good, keys, ""},
      {"base64", Signer::Base64(good), keys, ""},
      {"base64 in lines",
       Signer::Base64(good).substr(0, 44) + "\n" + Signer::Base64(good).substr(44) + "\n", keys,
       ""},
      {"by another of the keys", second.Sign(bytes), keys, ""},
      {"of other bytes", ours.Sign(bytes + "!"), keys, wrong},
      {"by a stranger", stranger.Sign(bytes), keys, wrong},
      {"empty", "", keys, odd},
      {"too short", good.substr(1), keys, odd},
      {"no base64", std::string(88, '*'), keys, odd},
      {"no key in the file", good, dir / "none.pem",
       (dir / "none.pem") +
           ": holds no PEM public key: --plugin-trust-key needs Ed25519 public keys"},
      {"no such file", good, dir / "absent",
       (dir / "absent") +
           ": holds no PEM public key: --plugin-trust-key needs Ed25519 public keys"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Status s = VerifySignature(bytes, row.signature, row.keys, "p.so");
    EXPECT_EQ(s.ok() ? "" : s.error().message, row.want);
  }
}

TEST(PluginSignature, LoadAsksForOneWhenAKeyIsGiven) {
  TemporaryDir dir;
  const Signer signer;
  std::filesystem::create_directory(dir / "private");
  WriteAll(dir / "keys.pem", signer.PublicPem());
  const std::string file = dir / "p.so";
  test::Install(test::Probe("good"), file);
  const LoadOptions options{dir / "private", dir / "keys.pem"};
  Result<std::shared_ptr<Image>> image = Image::Load(file, options);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().message,
            file + ": no signature " + file + ".sig: --plugin-trust-key asks for one");
  WriteAll(file + ".sig", signer.Sign(test::ReadAll(file)));
  image = Image::Load(file, options);
  EXPECT_TRUE(image.ok()) << image.error().message;
  WriteAll(file, test::ReadAll(test::Probe("good_b")));  // exchanged under its signature
  image = Image::Load(file, options);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.error().message.find("does not verify"), std::string::npos);
  EXPECT_EQ(test::MappingsOf(dir.path()), 0);
}

TEST(PluginSignature, DigestIsSha256) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace kcm::host::plugin
