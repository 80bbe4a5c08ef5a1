// SPDX-License-Identifier: Apache-2.0
// A small HTTPS client for tests, and certificates to use it with. Plain OpenSSL, so that it shares
// nothing with the server.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kcm::test {

struct CertAndKey {
  std::string cert, key;  // PEM
};

// An authority that signs client or server certificates.
class TestCa {
 public:
  explicit TestCa(const std::string& name);
  ~TestCa();
  TestCa(const TestCa&) = delete;
  TestCa& operator=(const TestCa&) = delete;
  const std::string& pem() const { return pem_; }
  enum class Validity { kNow, kOver };
  CertAndKey Client(const std::string& common_name,
                    const std::vector<std::string>& organizations = {},
                    Validity validity = Validity::kNow) const;
  CertAndKey Server(const std::string& dns_name, Validity validity = Validity::kNow) const;
  // For 127.0.0.1.
  CertAndKey LoopbackServer(Validity validity = Validity::kNow) const;

 private:
  CertAndKey Issue(Validity validity, const std::string& common_name,
                   const std::vector<std::string>& organizations, const std::string& usage,
                   const std::string& alternative_names) const;
  struct State;
  State* state_;
  std::string pem_;
};

struct Call {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::optional<CertAndKey> client = {};
  std::string server_name = {};
  int max_version = 0;      // TLS1_2_VERSION ...; 0: no limit
  int security_level = -1;  // -1: default
};

struct Reply {
  bool connected = false;  // the handshake succeeded
  int status = 0;
  std::map<std::string, std::string> headers;  // lower case names
  std::string body;
  std::vector<std::string> chain_names;  // common names of the server's certificates, leaf first
  std::string alternative_names;         // of the leaf, as OpenSSL prints them
  std::string protocol;                  // "TLSv1.3"
};

// One request on a connection of its own to 127.0.0.1.
Reply Send(int port, const Call& call);
// Raw bytes instead of a request; what came back until the server closed.
std::string SendRaw(int port, const std::string& bytes);
// Several GETs of the targets on one connection; statuses in order.
std::vector<int> SendKeepAlive(int port, const std::vector<std::string>& targets);

}  // namespace kcm::test
