// SPDX-License-Identifier: Apache-2.0
// Serving certificates, versions, listeners (spec/host.md 9.7).
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/http/server_fixture.h"

namespace kcm::host::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class Tls : public ServerTest {
 protected:
  void StartPlain(const std::vector<std::string>& args = {}) { StartWith(PlainOptions(args)); }
  test::Reply Hello(const std::string& server_name = "") {
    return test::Send(server_->port(), {.target = "/healthz", .server_name = server_name});
  }
  test::Reply Upto(int version) {
    return test::Send(server_->port(),
                      {.target = "/healthz", .max_version = version, .security_level = 0});
  }
};

// HOST-45 but for the process's exit code.
TEST_F(Tls, DefaultPairAndVersions) {
  StartPlain();
  const test::Reply r = Hello();
  EXPECT_EQ(r.status, 200);
  EXPECT_EQ(r.protocol, "TLSv1.3");
  EXPECT_THAT(r.chain_names,
              ElementsAre(MatchesRegex("localhost@[0-9]+"), MatchesRegex("localhost-ca@[0-9]+")));
  EXPECT_EQ(r.alternative_names, "DNS:localhost, IP Address:127.0.0.1");
  EXPECT_EQ(Upto(TLS1_2_VERSION).protocol, "TLSv1.2");
  EXPECT_FALSE(Upto(TLS1_1_VERSION).connected);
  EXPECT_THAT(test::Send(server_->port(),
                         {.target = "/metrics", .headers = {{"Authorization", "Bearer token-a"}}})
                  .body,
              HasSubstr("apiserver_tls_handshake_errors_total 1"));
}

TEST_F(Tls, MinimumVersion) {
  Start({"--tls-min-version=VersionTLS13"});
  EXPECT_TRUE(Upto(TLS1_3_VERSION).connected);
  EXPECT_FALSE(Upto(TLS1_2_VERSION).connected);
  server_.reset();
  Start({"--tls-min-version=VersionTLS10"});
  EXPECT_EQ(Upto(TLS1_VERSION).protocol, "TLSv1");
}

TEST_F(Tls, CipherSuitesAndCurves) {
  Start({"--tls-cipher-suites=TLS_AES_128_GCM_SHA256"});
  EXPECT_FALSE(Upto(TLS1_2_VERSION).connected) << "no suite of 1.2 is listed";
  EXPECT_TRUE(Upto(TLS1_3_VERSION).connected);
  server_.reset();
  Start({"--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_RSA_WITH_RC4_128_SHA",
         "--tls-curve-preferences=23,4588"});
  EXPECT_TRUE(Upto(TLS1_2_VERSION).connected);
  ServerOptions options = Options({});
  options.serving.cipher_suites = {"FOO"};
  const auto refused = Server::Start(std::move(options));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "Cipher suite FOO not supported or doesn't exist");
}

TEST_F(Tls, FilesAreReloadedAndABadPairKeepsTheOld) {
  const test::TestCa ca("ca");
  const test::CertAndKey first = ca.Server("first.example");
  const test::CertAndKey second = ca.Server("second.example");
  const std::string cert = Write("tls.crt", first.cert);
  const std::string key = Write("tls.key", first.key);
  StartPlain({"--tls-cert-file=" + cert, "--tls-private-key-file=" + key});
  EXPECT_THAT(Hello().chain_names, ElementsAre("first.example"));
  Write("tls.crt", second.cert);  // the key still belongs to the first
  clock_.Advance(std::chrono::seconds(60));
  EXPECT_THAT(Hello().chain_names, ElementsAre("first.example"));
  EXPECT_THAT(LogLines(), testing::Contains(HasSubstr("Failed to reload serving certificate")));
  Write("tls.key", second.key);
  clock_.Advance(std::chrono::seconds(60));
  EXPECT_THAT(Hello().chain_names, ElementsAre("second.example"));
}

TEST_F(Tls, BadFilesStopTheStart) {
  const test::TestCa ca("ca");
  const std::string cert = Write("tls.crt", ca.Server("a").cert);
  const std::string other_key = Write("tls.key", ca.Server("b").key);
  const std::string empty = Write("empty", "");
  const struct {
    std::string cert, key, want;
  } rows[] = {{"/no/such.crt", other_key, "open /no/such.crt: no such file or directory"},
              {cert, other_key, "private key does not match public key"},
              {empty, other_key, "failed to find any PEM data in certificate input"},
              {cert, empty, "failed to find any usable PEM data in key input"}};
  for (const auto& row : rows) {
    const auto refused = Server::Start(
        PlainOptions({"--tls-cert-file=" + row.cert, "--tls-private-key-file=" + row.key}));
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr(row.want));
  }
}

TEST_F(Tls, CertDirKeepsTheGeneratedPair) {
  const std::string certs = dir_ / "new/certs";
  StartPlain({"--cert-dir=" + certs});
  const std::vector<std::string> names = Hello().chain_names;
  EXPECT_EQ(names.size(), 2u);
  struct stat info {};
  ASSERT_EQ(stat((certs + "/kube-controller-manager.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  ASSERT_EQ(stat((certs + "/kube-controller-manager.crt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0644u);
  server_.reset();
  StartPlain({"--cert-dir=" + certs});
  EXPECT_EQ(Hello().chain_names, names);
}

TEST_F(Tls, SniChoosesGivenPatternsThenNamesThenTheDefault) {
  const test::TestCa ca("ca");
  const test::CertAndKey named = ca.Server("named.example");
  const test::CertAndKey wild = ca.Server("cert-of-wild");
  const std::string pair1 = Write("1.crt", named.cert) + "," + Write("1.key", named.key);
  const std::string pair2 =
      Write("2.crt", wild.cert) + "," + Write("2.key", wild.key) + ":*.wild.example,exact.example";
  StartPlain({"--tls-sni-cert-key=" + pair1, "--tls-sni-cert-key=" + pair2});
  EXPECT_THAT(Hello("named.example").chain_names, ElementsAre("named.example"));
  EXPECT_THAT(Hello("NAMED.example").chain_names, ElementsAre("named.example"));
  EXPECT_THAT(Hello("a.wild.example").chain_names, ElementsAre("cert-of-wild"));
  EXPECT_THAT(Hello("exact.example").chain_names, ElementsAre("cert-of-wild"));
  EXPECT_THAT(Hello("a.b.wild.example").chain_names,
              ElementsAre(StartsWith("localhost@"), testing::_));
  EXPECT_THAT(Hello("cert-of-wild").chain_names, ElementsAre(StartsWith("localhost@"), testing::_));
}

TEST_F(Tls, TakenPortIsNamed) {
  Start();
  ServerOptions options = Options({});
  options.serving.port = server_->port();
  const auto refused = Server::Start(std::move(options));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              MatchesRegex("failed to create listener: failed to listen on 0.0.0.0:[0-9]+: listen "
                           "tcp 0.0.0.0:[0-9]+: bind: "
                           "address already in use"));
}

// More connections than the server has threads, which say nothing: the others are served meanwhile.
TEST_F(Tls, SilentConnectionsDoNotKeepOutTheOthers) {
  StartPlain();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> silent;
  for (int i = 0; i < 140; ++i) {
    silent.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(silent.back(), static_cast<sockaddr*>(static_cast<void*>(&address)),
                        sizeof address),
              0);
  }
  EXPECT_EQ(Hello().status, 200);
  char byte = 0;
  EXPECT_EQ(::recv(silent.front(), &byte, 1, MSG_DONTWAIT), -1)
      << "served only when the silent ones' time was over";
  for (const int fd : silent) ::close(fd);
}

TEST_F(Tls, SpecificAddressIsInTheCertificate) {
  StartPlain({"--bind-address=127.0.0.1"});
  EXPECT_EQ(Hello().alternative_names, "DNS:localhost, IP Address:127.0.0.1");
  server_.reset();
  ServerOptions options = Options({"--bind-address=203.0.113.7"});
  const auto refused = Server::Start(std::move(options));
  ASSERT_FALSE(refused.ok()) << "not an address of this machine";
  EXPECT_THAT(refused.error().message, HasSubstr("failed to listen on 203.0.113.7:0"));
}

}  // namespace
}  // namespace kcm::host::http
