// SPDX-License-Identifier: Apache-2.0
// HTTP and TLS of the benchmark (connection.h).
#include "connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kcm::bench {
namespace {

constexpr size_t kPart = 64 * 1024;

// The value behind `key: ` in the kubeconfig, decoded from base64.
std::string Embedded(const std::string& text, const std::string& key) {
  const size_t at = text.find(key + ": ");
  if (at == std::string::npos) Die("no " + key + " in the kubeconfig");
  const size_t begin = at + key.size() + 2;
  const std::string encoded = text.substr(begin, text.find('\n', begin) - begin);
  std::string out(encoded.size(), '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(encoded.data()),
                                static_cast<int>(encoded.size()));
  if (n < 0) Die(key + " is not base64");
  out.resize(static_cast<size_t>(n));
  return out;
}

BIO* Memory(const std::string& s) { return BIO_new_mem_buf(s.data(), static_cast<int>(s.size())); }

}  // namespace

void Die(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::_Exit(1);
}

Target::Target(const std::string& url, const std::string& kubeconfig) {
  port_ = static_cast<uint16_t>(std::atoi(url.substr(url.rfind(':') + 1).c_str()));
  if (url.compare(0, 6, "https:") != 0) return;
  context_ = SSL_CTX_new(TLS_client_method());
  const std::string key_text = Embedded(kubeconfig, "client-key-data");
  const std::string cert_text = Embedded(kubeconfig, "client-certificate-data");
  BIO* cert = Memory(cert_text);
  BIO* key = Memory(key_text);
  X509* x = PEM_read_bio_X509(cert, nullptr, nullptr, nullptr);
  EVP_PKEY* k = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  if (SSL_CTX_use_certificate(context_, x) != 1 || SSL_CTX_use_PrivateKey(context_, k) != 1)
    Die("the kubeconfig's client certificate can not be used");
  X509_free(x);
  EVP_PKEY_free(k);
  BIO_free(cert);
  BIO_free(key);
}

Target::~Target() { SSL_CTX_free(context_); }

Connection::Connection(const Target& target)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(target.port_);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr generic{};
  std::memcpy(&generic, &where, sizeof where);
  if (fd_ < 0 || ::connect(fd_, &generic, sizeof where) != 0) Die("cannot connect to the server");
  const int one = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (target.context_ == nullptr) return;
  ssl_ = SSL_new(target.context_);
  SSL_set_fd(ssl_, fd_);
  if (SSL_connect(ssl_) != 1) Die("the TLS handshake failed");
}

Connection::~Connection() {
  SSL_free(ssl_);
  ::close(fd_);
}

void Connection::Send(std::string_view method, std::string_view path, std::string_view body,
                      std::string_view content_type, std::string_view accept) {
  out_.clear();
  out_.append(method).append(" ").append(path).append(
      " HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench/1\r\nAccept: ");
  out_.append(accept).append("\r\n");
  if (!body.empty()) {
    out_.append("Content-Type: ").append(content_type).append("\r\nContent-Length: ");
    out_.append(std::to_string(body.size())).append("\r\n");
  }
  out_.append("\r\n").append(body);
  for (std::string_view left = out_; !left.empty();) {
    const ssize_t n = ssl_ != nullptr ? SSL_write(ssl_, left.data(), static_cast<int>(left.size()))
                                      : ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
    if (n <= 0) Die("the server closed the connection");
    left.remove_prefix(static_cast<size_t>(n));
  }
}

bool Connection::Fill() {
  in_.erase(0, begin_);
  begin_ = 0;
  const size_t had = in_.size();
  in_.resize(had + kPart);
  const ssize_t n = ssl_ != nullptr ? SSL_read(ssl_, in_.data() + had, kPart)
                                    : ::recv(fd_, in_.data() + had, kPart, 0);
  in_.resize(had + static_cast<size_t>(n > 0 ? n : 0));
  return n > 0;
}

bool Connection::Line(std::string* line) {
  for (;;) {
    const size_t end = in_.find('\n', begin_);
    if (end != std::string::npos) {
      line->assign(in_, begin_, end - begin_);
      if (!line->empty() && line->back() == '\r') line->pop_back();
      begin_ = end + 1;
      return true;
    }
    if (!Fill()) return false;
  }
}

// -1: chunked.
int Connection::Head(int64_t* length) {
  std::string line;
  if (!Line(&line) || line.size() < 12) return 0;
  const int code = std::atoi(line.c_str() + 9);
  *length = 0;
  while (Line(&line)) {
    if (line.empty()) return code;
    if (strncasecmp(line.c_str(), "content-length:", 15) == 0)
      *length = std::atoll(line.c_str() + 15);
    if (strncasecmp(line.c_str(), "transfer-encoding:", 18) == 0) *length = -1;
  }
  return 0;
}

bool Connection::Take(int64_t n, const std::function<bool(std::string_view)>& part) {
  while (n > 0) {
    if (begin_ == in_.size() && !Fill()) return false;
    const size_t take = std::min(static_cast<size_t>(n), in_.size() - begin_);
    if (!part(std::string_view(in_).substr(begin_, take))) return false;
    begin_ += take;
    n -= static_cast<int64_t>(take);
  }
  return true;
}

bool Connection::Body(int64_t length, const std::function<bool(std::string_view)>& part) {
  if (length >= 0) return Take(length, part);
  std::string line;
  for (;;) {
    if (!Line(&line)) return false;
    int64_t size = 0;
    std::from_chars(line.data(), line.data() + line.size(), size, 16);
    if (size > 0 && !Take(size, part)) return false;
    if (!Line(&line)) return false;
    if (size == 0) return true;
  }
}

Reply Connection::Do(std::string_view method, std::string_view path, std::string_view body,
                     std::string_view content_type) {
  Send(method, path, body, content_type, "application/json");
  Reply reply;
  int64_t length = 0;
  reply.code = Head(&length);
  if (reply.code == 0 || !Body(length, [&](std::string_view part) {
        reply.body += part;
        return true;
      })) {
    Die("the server closed the connection");
  }
  return reply;
}

int Connection::Stream(std::string_view path, std::string_view accept,
                       const std::function<bool(std::string_view)>& part) {
  Send("GET", path, "", "", accept);
  int64_t length = 0;
  const int code = Head(&length);
  return code != 0 && Body(length, part) ? code : 0;
}

void Connection::SendOnly(std::string_view path) { Send("GET", path, "", "", "application/json"); }

}  // namespace kcm::bench
