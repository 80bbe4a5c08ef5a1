// SPDX-License-Identifier: Apache-2.0
// Test client and certificates.
#include "host/http/tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "host/http/tls_handles.h"

namespace kcm::test {
namespace {

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

std::string Pem(X509* cert) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), cert);
  return Text(bio.get());
}

std::string Pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Text(bio.get());
}

void AddName(X509* cert, const char* field, const std::string& value) {
  const std::vector<unsigned char> bytes(value.begin(), value.end());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), field, MBSTRING_UTF8, bytes.data(),
                             static_cast<int>(bytes.size()), -1, 0);
}

void AddExtension(X509* cert, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

Cert Unsigned(EVP_PKEY* key) {
  Cert cert(X509_new());
  X509_set_version(cert.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 3600);
  X509_set_pubkey(cert.get(), key);
  return cert;
}

class Connection {
 public:
  Connection(int port, const Call& call) : context_(SSL_CTX_new(TLS_client_method())) {
    if (call.security_level >= 0) {
      SSL_CTX_set_security_level(context_.get(), call.security_level);
      SSL_CTX_set_cipher_list(context_.get(), "ALL:@SECLEVEL=0");
    }
    if (call.max_version != 0) SSL_CTX_set_max_proto_version(context_.get(), call.max_version);
    if (call.client) UsePair(context_.get(), *call.client);
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    const timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof(address)) != 0)
      return;
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd_);
    if (!call.server_name.empty()) {
      std::string name = call.server_name;  // the macro for this casts the C way
      SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
    }
    connected_ = SSL_connect(ssl_.get()) == 1;
  }
  ~Connection() {
    ssl_.reset();
    if (fd_ >= 0) close(fd_);
  }
  bool connected() const { return connected_; }
  SSL* ssl() const { return ssl_.get(); }

  void Write(const std::string& bytes) {
    SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  // false at the end.
  bool ReadSome(std::string* out) {
    std::string block(8192, '\0');
    const int n = SSL_read(ssl_.get(), block.data(), static_cast<int>(block.size()));
    if (n <= 0) return false;
    out->append(block.data(), static_cast<size_t>(n));
    return true;
  }

 private:
  Ctx context_;
  Ssl ssl_;
  int fd_ = -1;
  bool connected_ = false;
};

std::string CommonName(X509* cert) {
  std::string name(256, '\0');
  const int n =
      X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name.data(), 256);
  return n < 0 ? "" : name.substr(0, static_cast<size_t>(n));
}

void Describe(SSL* ssl, Reply* reply) {
  reply->protocol = SSL_get_version(ssl);
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i)
    reply->chain_names.push_back(CommonName(sk_X509_value(chain, i)));
  if (sk_X509_num(chain) == 0) return;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(sk_X509_value(chain, 0), NID_subject_alt_name, nullptr, nullptr));
  const Bio bio(BIO_new(BIO_s_mem()));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    if (i > 0) BIO_puts(bio.get(), ", ");
    GENERAL_NAME_print(bio.get(), sk_GENERAL_NAME_value(names, i));
  }
  reply->alternative_names = Text(bio.get());
  GENERAL_NAMES_free(names);
}

void ParseHead(const std::string& head, Reply* reply) {
  reply->status = head.size() > 12 ? std::atoi(head.c_str() + 9) : 0;
  for (size_t at = head.find("\r\n"); at != head.npos && at + 2 < head.size();
       at = head.find("\r\n", at + 2)) {
    const std::string line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply->headers[name] = line.substr(colon + 2);
  }
}

// Reads one response from what is in `buffer` and what follows.
bool ReadResponse(Connection* connection, std::string* buffer, Reply* reply) {
  size_t end = buffer->find("\r\n\r\n");
  while (end == buffer->npos) {
    if (!connection->ReadSome(buffer)) return false;
    end = buffer->find("\r\n\r\n");
  }
  ParseHead(buffer->substr(0, end + 2), reply);
  buffer->erase(0, end + 4);
  const auto length = static_cast<size_t>(std::atol(reply->headers["content-length"].c_str()));
  while (buffer->size() < length && connection->ReadSome(buffer)) {
  }
  reply->body = buffer->substr(0, length);
  buffer->erase(0, length);
  return true;
}

}  // namespace

struct TestCa::State {
  Key key;
  Cert cert;
};

TestCa::TestCa(const std::string& name) : state_(new State) {
  state_->key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  state_->cert = Unsigned(state_->key.get());
  AddName(state_->cert.get(), "CN", name);
  X509_set_issuer_name(state_->cert.get(), X509_get_subject_name(state_->cert.get()));
  AddExtension(state_->cert.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(state_->cert.get(), state_->key.get(), EVP_sha256());
  pem_ = Pem(state_->cert.get());
}

TestCa::~TestCa() { delete state_; }

CertAndKey TestCa::Issue(Validity validity, const std::string& common_name,
                         const std::vector<std::string>& organizations, const std::string& usage,
                         const std::string& alternative_names) const {
  const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const Cert cert = Unsigned(key.get());
  if (validity == Validity::kOver) {
    X509_gmtime_adj(X509_getm_notBefore(cert.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(cert.get()), -3600);
  }
  for (const std::string& organization : organizations) AddName(cert.get(), "O", organization);
  AddName(cert.get(), "CN", common_name);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(state_->cert.get()));
  AddExtension(cert.get(), NID_ext_key_usage, usage);
  if (!alternative_names.empty()) AddExtension(cert.get(), NID_subject_alt_name, alternative_names);
  X509_sign(cert.get(), state_->key.get(), EVP_sha256());
  return {Pem(cert.get()), Pem(key.get())};
}

CertAndKey TestCa::Client(const std::string& common_name,
                          const std::vector<std::string>& organizations, Validity validity) const {
  return Issue(validity, common_name, organizations, "clientAuth", "");
}

CertAndKey TestCa::Server(const std::string& dns_name, Validity validity) const {
  return Issue(validity, dns_name, {}, "serverAuth", "DNS:" + dns_name);
}

CertAndKey TestCa::LoopbackServer(Validity validity) const {
  return Issue(validity, "loopback", {}, "serverAuth", "IP:127.0.0.1");
}

Reply Send(int port, const Call& call) {
  Reply reply;
  Connection connection(port, call);
  reply.connected = connection.connected();
  if (!reply.connected) return reply;
  Describe(connection.ssl(), &reply);
  std::string request =
      call.method + " " + call.target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  for (const auto& [name, value] : call.headers) request += name + ": " + value + "\r\n";
  if (!call.body.empty()) request += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
  connection.Write(request + "\r\n" + call.body);
  std::string buffer;
  ReadResponse(&connection, &buffer, &reply);
  return reply;
}

std::string SendRaw(int port, const std::string& bytes) {
  Connection connection(port, {});
  std::string buffer;
  if (!connection.connected()) return buffer;
  connection.Write(bytes);
  while (connection.ReadSome(&buffer)) {
  }
  return buffer;
}

std::vector<int> SendKeepAlive(int port, const std::vector<std::string>& targets) {
  Connection connection(port, {});
  std::vector<int> statuses;
  std::string buffer;
  for (const std::string& target : targets) {
    connection.Write("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Reply reply;
    if (!ReadResponse(&connection, &buffer, &reply)) break;
    statuses.push_back(reply.status);
  }
  return statuses;
}

}  // namespace kcm::test
