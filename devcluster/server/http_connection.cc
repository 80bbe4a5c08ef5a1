// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 on a socket (http_connection.h). Line, header and body sizes are bounded: the client is
// the world.
#include "devcluster/server/http_connection.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace kcm::devcluster {
namespace {

constexpr size_t kMaxLine = 64 * 1024;
constexpr size_t kMaxHeaders = 200;
constexpr size_t kMaxBody = 3 * 1024 * 1024;  // the real server's limit of a request body
constexpr size_t kReadSize = 16 * 1024;

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view TrimHeader(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

const char* ReasonPhrase(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Request Entity Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "Status";
  }
}

std::vector<std::string> SubjectTexts(X509_NAME* name, int nid) {
  std::vector<std::string> out;
  for (int i = X509_NAME_get_index_by_NID(name, nid, -1); i >= 0;
       i = X509_NAME_get_index_by_NID(name, nid, i)) {
    const ASN1_STRING* s = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i));
    unsigned char* utf8 = nullptr;
    const int n = ASN1_STRING_to_UTF8(&utf8, s);
    if (n >= 0) out.emplace_back(utf8, utf8 + n);
    OPENSSL_free(utf8);
  }
  return out;
}

PeerCertificate ReadPeer(SSL* ssl) {
  PeerCertificate peer;
  X509* cert = SSL_get1_peer_certificate(ssl);
  if (cert == nullptr) return peer;
  X509_NAME* subject = X509_get_subject_name(cert);
  const std::vector<std::string> names = SubjectTexts(subject, NID_commonName);
  if (!names.empty()) peer.common_name = names.back();
  peer.organizations = SubjectTexts(subject, NID_organizationName);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (X509_digest(cert, EVP_sha256(), digest, &size) == 1) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (unsigned i = 0; i < size; ++i) {
      peer.sha256 += kDigits[digest[i] >> 4];
      peer.sha256 += kDigits[digest[i] & 15];
    }
  }
  X509_free(cert);
  return peer;
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (SameName(key, name)) return value;
  }
  return {};
}

Connection::Connection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {
  if (ssl_ != nullptr) SSL_set_fd(ssl_, fd_);
}

Connection::~Connection() {
  if (ssl_ != nullptr) {
    if (!aborted()) SSL_shutdown(ssl_);
    SSL_free(ssl_);
  }
  ::close(fd_);
}

bool Connection::Handshake() {
  if (ssl_ == nullptr) return true;
  if (SSL_accept(ssl_) != 1) return false;
  peer_ = ReadPeer(ssl_);
  return true;
}

bool Connection::Fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const size_t had = buffer_.size();
  buffer_.resize(had + kReadSize);
  ssize_t n = 0;
  if (ssl_ != nullptr) {
    n = SSL_read(ssl_, buffer_.data() + had, static_cast<int>(kReadSize));
  } else {
    do {
      n = ::recv(fd_, buffer_.data() + had, kReadSize, 0);
    } while (n < 0 && errno == EINTR);
  }
  buffer_.resize(had + static_cast<size_t>(n > 0 ? n : 0));
  return n > 0;
}

bool Connection::ReadLine(std::string* line) {
  for (size_t scanned = begin_;;) {
    const size_t end = buffer_.find('\n', scanned);
    if (end != std::string::npos) {
      line->assign(buffer_, begin_, end - begin_);
      if (!line->empty() && line->back() == '\r') line->pop_back();
      begin_ = end + 1;
      return true;
    }
    if (buffer_.size() - begin_ > kMaxLine) return false;
    scanned = buffer_.size() - begin_;  // Fill moves the unread bytes to the front
    if (!Fill()) return false;
  }
}

bool Connection::ReadExactly(size_t n, std::string* out) {
  out->reserve(out->size() + n);
  while (n > 0) {
    if (begin_ == buffer_.size() && !Fill()) return false;
    const size_t take = std::min(n, buffer_.size() - begin_);
    out->append(buffer_, begin_, take);
    begin_ += take;
    n -= take;
  }
  return true;
}

bool Connection::ReadChunkedBody(std::string* body, bool* too_large) {
  std::string line;
  for (;;) {
    if (!ReadLine(&line)) return false;
    size_t size = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    if (error != std::errc() || end == line.data()) return false;
    if (size == 0) break;
    if (size > kMaxBody || body->size() + size > kMaxBody) {
      *too_large = true;
      return false;
    }
    if (!ReadExactly(size, body) || !ReadLine(&line)) return false;
  }
  for (size_t i = 0; i < kMaxHeaders; ++i) {  // trailers
    if (!ReadLine(&line)) return false;
    if (line.empty()) return true;
  }
  return false;
}

Connection::Read Connection::ReadRequest(HttpRequest* request, std::string* error) {
  *request = HttpRequest();
  std::string line;
  if (begin_ == buffer_.size() && buffer_.capacity() > 2 * kReadSize) {
    buffer_ = std::string();  // an idle connection keeps no large buffer
    begin_ = 0;
  }
  do {
    if (!ReadLine(&line)) {
      if (buffer_.size() - begin_ <= kMaxLine) return Read::kClosed;
      *error = "request line too long";
      return Read::kBad;
    }
  } while (line.empty());
  const size_t a = line.find(' '), b = line.rfind(' ');
  if (a == std::string::npos || a == 0 || b <= a + 1 || line.compare(b + 1, 7, "HTTP/1.") != 0) {
    *error = "malformed request line";
    return Read::kBad;
  }
  request->method = line.substr(0, a);
  request->target = line.substr(a + 1, b - a - 1);
  request->keep_alive = line.back() != '0';
  head_ = request->method == "HEAD";
  for (;;) {
    if (!ReadLine(&line)) return Read::kClosed;
    if (line.empty()) break;
    const size_t colon = line.find(':');
    if (colon == std::string::npos || request->headers.size() >= kMaxHeaders) {
      *error = "malformed or too many headers";
      return Read::kBad;
    }
    request->headers.emplace_back(line.substr(0, colon),
                                  TrimHeader(std::string_view(line).substr(colon + 1)));
  }
  const std::string_view connection = request->Header("Connection");
  if (SameName(connection, "close")) request->keep_alive = false;
  const bool chunked = SameName(request->Header("Transfer-Encoding"), "chunked");
  size_t length = 0;
  const std::string_view length_text = request->Header("Content-Length");
  if (!length_text.empty()) {
    const auto [end, bad] =
        std::from_chars(length_text.data(), length_text.data() + length_text.size(), length);
    if (bad != std::errc() || end != length_text.data() + length_text.size()) {
      *error = "malformed Content-Length";
      return Read::kBad;
    }
    if (length > kMaxBody) return Read::kTooLarge;
  }
  if ((chunked || length > 0) && SameName(request->Header("Expect"), "100-continue") &&
      !Write("HTTP/1.1 100 Continue\r\n\r\n")) {
    return Read::kClosed;
  }
  if (chunked) {
    bool too_large = false;
    if (!ReadChunkedBody(&request->body, &too_large))
      return too_large ? Read::kTooLarge : Read::kClosed;
  } else if (length > 0 && !ReadExactly(length, &request->body)) {
    return Read::kClosed;
  }
  return Read::kRequest;
}

bool Connection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = 0;
    if (ssl_ != nullptr) {
      n = SSL_write(ssl_, bytes.data(),
                    static_cast<int>(std::min<size_t>(bytes.size(), size_t{1} << 30)));
    } else {
      n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
    }
    if (n <= 0) {
      close_after_ = true;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void Connection::AppendHead(int code, std::string_view content_type, std::string_view headers,
                            std::string* out) const {
  out->append("HTTP/1.1 ")
      .append(std::to_string(code))
      .append(" ")
      .append(ReasonPhrase(code))
      .append("\r\n");
  if (!content_type.empty()) out->append("Content-Type: ").append(content_type).append("\r\n");
  out->append("Cache-Control: no-cache, private\r\n").append(headers);
  if (close_after_) out->append("Connection: close\r\n");
}

bool Connection::Send(int code, std::string_view content_type, std::string_view headers,
                      std::string_view body) {
  std::string out;
  out.reserve(512 + body.size());
  AppendHead(code, content_type, headers, &out);
  if (code != 204 && code != 304)
    out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  out.append("\r\n");
  if (!head_ && code != 204 && code != 304) out.append(body);
  return Write(out);
}

bool Connection::BeginChunked(int code, std::string_view content_type, std::string_view headers) {
  std::string out;
  AppendHead(code, content_type, headers, &out);
  out.append("Transfer-Encoding: chunked\r\n\r\n");
  return Write(out);
}

bool Connection::Chunk(std::string_view bytes) {
  if (head_ || bytes.empty()) return true;
  char size[20];
  const auto [end, error] = std::to_chars(size, size + sizeof size, bytes.size(), 16);
  (void)error;
  std::string out;
  out.reserve(bytes.size() + 24);
  out.append(size, end).append("\r\n").append(bytes).append("\r\n");
  return Write(out);
}

bool Connection::ChunkInPlace(std::string* frame) {
  bool ok = true;
  if (!head_ && frame->size() > kChunkRoom) {
    // Eight digits; leading zeros are allowed.
    size_t left = frame->size() - kChunkRoom;
    for (size_t i = 8; i > 0; --i, left >>= 4) (*frame)[i - 1] = "0123456789abcdef"[left & 15];
    (*frame)[8] = '\r';
    (*frame)[9] = '\n';
    frame->append("\r\n");
    ok = Write(*frame);
  }
  frame->resize(kChunkRoom);
  return ok;
}

bool Connection::EndChunked() { return head_ || Write("0\r\n\r\n"); }

bool Connection::AwaitWake(int wake_fd, int timeout_ms) {
  pollfd fds[2] = {{fd_, POLLRDHUP, 0}, {wake_fd, POLLIN, 0}};
  int n = 0;
  do {
    n = ::poll(fds, 2, timeout_ms);
  } while (n < 0 && errno == EINTR);
  if (aborted() || (fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return false;
  return true;
}

void Connection::Abort() {
  aborted_.store(true, std::memory_order_relaxed);
  ::shutdown(fd_, SHUT_RDWR);
}

}  // namespace kcm::devcluster
