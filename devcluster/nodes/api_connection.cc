// SPDX-License-Identifier: Apache-2.0
// The HTTP client of the simulated nodes, over Poco::Net.
#include "devcluster/nodes/api_connection.h"

#include <Poco/Exception.h>
#include <Poco/Net/Context.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/HTTPSClientSession.h>
#include <Poco/Net/SocketImpl.h>
#include <Poco/StreamCopier.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <istream>
#include <mutex>
#include <ostream>

namespace kcm::devcluster::nodes {
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kAnswerSeconds = 60;
// A watch that asks for 300 s and says nothing for this long is dead.
constexpr long kStreamSeconds = 400;
constexpr size_t kLongestMessage = 300;

struct BioFree {
  void operator()(BIO* b) const { BIO_free(b); }
};
struct X509Free {
  void operator()(X509* x) const { X509_free(x); }
};
struct KeyFree {
  void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
};
using Bio = std::unique_ptr<BIO, BioFree>;
using Certificate = std::unique_ptr<X509, X509Free>;
using EvpKey = std::unique_ptr<EVP_PKEY, KeyFree>;

Bio Memory(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Error TlsError(const std::string& what) {
  ERR_clear_error();
  return MakeError(Code::kInvalid, what);
}

Status TrustOnly(SSL_CTX* ctx, const std::string& ca_pem) {
  X509_STORE* store = SSL_CTX_get_cert_store(ctx);
  const Bio in = Memory(ca_pem);
  int count = 0;
  while (Certificate x{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store, x.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return TlsError("certificate-authority: no PEM certificate in it");
  return Ok();
}

Status UseClientCertificate(SSL_CTX* ctx, const Endpoint& e) {
  const Bio certs = Memory(e.cert_pem);
  const Certificate leaf(PEM_read_bio_X509(certs.get(), nullptr, nullptr, nullptr));
  if (!leaf || SSL_CTX_use_certificate(ctx, leaf.get()) != 1) {
    return TlsError("client-certificate: no PEM certificate in it");
  }
  while (X509* more = PEM_read_bio_X509(certs.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add_extra_chain_cert(ctx, more);  // takes ownership
  }
  ERR_clear_error();
  const Bio in = Memory(e.key_pem);
  const EvpKey key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
    return TlsError("client-key: not a PEM private key of the client certificate");
  }
  return Ok();
}

// The name is checked by OpenSSL for every connection of this context: Poco would skip it for
// loopback addresses.
void VerifyName(SSL_CTX* ctx, const std::string& host) {
  X509_VERIFY_PARAM* param = SSL_CTX_get0_param(ctx);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) == 1) return;
  ERR_clear_error();
  X509_VERIFY_PARAM_set1_host(param, host.c_str(), host.size());
}

Result<Poco::Net::Context::Ptr> MakeContext(const Endpoint& e) {
  using Poco::Net::Context;
  Context::Ptr context(new Context(Context::TLS_CLIENT_USE, "", "", "",
                                   e.insecure ? Context::VERIFY_NONE : Context::VERIFY_STRICT, 9,
                                   e.ca_pem.empty(), "HIGH:!aNULL:!eNULL"));
  context->disableProtocols(Context::PROTO_SSLV2 | Context::PROTO_SSLV3 | Context::PROTO_TLSV1 |
                            Context::PROTO_TLSV1_1);
  context->enableExtendedCertificateVerification(false);
  context->enableSessionCache(false);
  SSL_CTX* ctx = context->sslContext();
  SSL_CTX_set_verify(ctx, e.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (!e.insecure) VerifyName(ctx, e.host);
  if (!e.ca_pem.empty()) {
    Status s = TrustOnly(ctx, e.ca_pem);
    if (!s.ok()) return s.error();
  }
  if (!e.cert_pem.empty()) {
    Status s = UseClientCertificate(ctx, e);
    if (!s.ok()) return s.error();
  }
  return context;
}

}  // namespace

std::string Answer::Describe() const {
  if (status == 0) return body;
  // The message of a Status, cut out without parsing: this is only for people.
  std::string text = body;
  const size_t at = body.find("\"message\":\"");
  if (at != std::string::npos) {
    const size_t from = at + 11;
    text = body.substr(from, body.find("\",", from) - from);
  }
  if (text.size() > kLongestMessage) text.resize(kLongestMessage);
  return std::to_string(status) + ": " + text;
}

struct ApiServer::Impl {
  Endpoint endpoint;
  Poco::Net::Context::Ptr context;  // null for plain http
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::shared_ptr<ApiServer>> ApiServer::Make(Endpoint endpoint) {
  try {
    auto impl = std::make_unique<Impl>();
    if (endpoint.tls) {
      Result<Poco::Net::Context::Ptr> context = MakeContext(endpoint);
      if (!context.ok()) return context.error();
      impl->context = *context;
    }
    impl->endpoint = std::move(endpoint);
    return std::shared_ptr<ApiServer>(new ApiServer(std::move(impl)));
  } catch (const Poco::Exception& e) {
    return MakeError(Code::kInvalid, "TLS set-up: " + e.displayText());
  }
}

struct ApiConnection::Impl {
  std::shared_ptr<ApiServer> server;
  std::unique_ptr<Poco::Net::HTTPClientSession> session;
  std::istream* stream = nullptr;  // of an open watch; owned by the session
  std::mutex mu;
  int fd = -1;           // guarded by mu: the connected socket, for Abort
  bool aborted = false;  // guarded by mu

  bool Aborted() {
    const std::lock_guard lock(mu);
    return aborted;
  }
  void Drop() {
    {
      const std::lock_guard lock(mu);
      fd = -1;
    }
    stream = nullptr;
    session.reset();
  }
  void Prepare(long answer_seconds) {
    if (session) return;
    const Endpoint& e = server->impl_->endpoint;
    if (e.tls) {
      session =
          std::make_unique<Poco::Net::HTTPSClientSession>(e.host, e.port, server->impl_->context);
    } else {
      session = std::make_unique<Poco::Net::HTTPClientSession>(e.host, e.port);
    }
    session->setKeepAlive(true);
    session->setTimeout(Poco::Timespan(kConnectSeconds, 0), Poco::Timespan(kAnswerSeconds, 0),
                        Poco::Timespan(answer_seconds, 0));
  }
  // Sends one request and waits for the head of its answer. Throws Poco exceptions.
  std::istream& Exchange(const std::string& method, const std::string& path,
                         const std::string& body, const char* content_type,
                         Poco::Net::HTTPResponse* response) {
    const Endpoint& e = server->impl_->endpoint;
    Poco::Net::HTTPRequest request(method, e.path + path, Poco::Net::HTTPMessage::HTTP_1_1);
    request.set("User-Agent", "kcm-devcluster/nodes");
    request.set("Accept", kJson);
    if (!e.token.empty()) request.set("Authorization", "Bearer " + e.token);
    if (!body.empty()) {
      request.setContentType(content_type);
      request.setContentLength64(static_cast<Poco::Int64>(body.size()));
    }
    std::ostream& out = session->sendRequest(request);
    if (!body.empty()) out.write(body.data(), static_cast<std::streamsize>(body.size()));
    out.flush();
    {
      const std::lock_guard lock(mu);
      fd = session->socket().impl()->sockfd();
      if (aborted) throw Poco::IOException("stopped");
    }
    return session->receiveResponse(*response);
  }
};

ApiConnection::ApiConnection(std::shared_ptr<ApiServer> server) : impl_(std::make_unique<Impl>()) {
  impl_->server = std::move(server);
}
ApiConnection::~ApiConnection() { impl_->Drop(); }

Answer ApiConnection::Call(const std::string& method, const std::string& path,
                           const std::string& body, const char* content_type) {
  Answer answer;
  for (int attempt = 0; attempt < 2 && !impl_->Aborted(); ++attempt) {
    const bool kept_alive = impl_->session && impl_->session->connected();
    try {
      impl_->Prepare(kAnswerSeconds);
      Poco::Net::HTTPResponse response;
      std::istream& in = impl_->Exchange(method, path, body, content_type, &response);
      answer.body.clear();
      Poco::StreamCopier::copyToString(in, answer.body);
      answer.status = static_cast<int>(response.getStatus());
      return answer;
    } catch (const Poco::Exception& e) {
      answer.body = method + " " + path + ": " + e.displayText();
    } catch (const std::exception& e) {
      answer.body = method + " " + path + ": " + e.what();
    }
    impl_->Drop();
    if (!kept_alive) return answer;
  }
  if (answer.body.empty()) answer.body = "stopped";
  return answer;
}

Answer ApiConnection::OpenStream(const std::string& path) {
  Answer answer;
  answer.body = "stopped";
  if (impl_->Aborted()) return answer;
  impl_->Drop();
  try {
    impl_->Prepare(kStreamSeconds);
    Poco::Net::HTTPResponse response;
    std::istream& in = impl_->Exchange("GET", path, {}, kJson, &response);
    answer.status = static_cast<int>(response.getStatus());
    answer.body.clear();
    if (answer.ok()) {
      impl_->stream = &in;
    } else {
      Poco::StreamCopier::copyToString(in, answer.body);
    }
    return answer;
  } catch (const Poco::Exception& e) {
    answer.body = "GET " + path + ": " + e.displayText();
  } catch (const std::exception& e) {
    answer.body = "GET " + path + ": " + e.what();
  }
  answer.status = 0;
  impl_->Drop();
  return answer;
}

bool ApiConnection::ReadLine(std::string* line) {
  if (impl_->stream == nullptr || impl_->Aborted()) return false;
  try {
    if (std::getline(*impl_->stream, *line) && !impl_->stream->eof()) return true;
  } catch (const std::exception&) {
    // A broken connection ends a stream as its end does: the watcher starts over where it was.
  }
  impl_->Drop();
  return false;
}

void ApiConnection::Abort() {
  const std::lock_guard lock(impl_->mu);
  impl_->aborted = true;
  // shutdown(2), not Poco's: SSL_shutdown must not run while another thread is in SSL_read.
  if (impl_->fd >= 0) ::shutdown(impl_->fd, SHUT_RDWR);
}

}  // namespace kcm::devcluster::nodes
