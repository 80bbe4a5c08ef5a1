// SPDX-License-Identifier: Apache-2.0
// Sockets by hand: dual stack and both sharing options.
#include "host/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/file/open_limit.h"

namespace kcm::host::http {
namespace {

constexpr int kBacklog = 128;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* get() { return static_cast<sockaddr*>(static_cast<void*>(&storage)); }
  sockaddr_in* v4() { return static_cast<sockaddr_in*>(static_cast<void*>(&storage)); }
  sockaddr_in6* v6() { return static_cast<sockaddr_in6*>(static_cast<void*>(&storage)); }
};

bool ToAddress(const std::string& text, uint16_t port, Address* out) {
  out->storage = {};
  if (inet_pton(AF_INET, text.c_str(), &out->v4()->sin_addr) == 1) {
    out->v4()->sin_family = AF_INET;
    out->v4()->sin_port = htons(port);
    out->size = sizeof(sockaddr_in);
    return true;
  }
  if (inet_pton(AF_INET6, text.c_str(), &out->v6()->sin6_addr) == 1) {
    out->v6()->sin6_family = AF_INET6;
    out->v6()->sin6_port = htons(port);
    out->size = sizeof(sockaddr_in6);
    return true;
  }
  return false;
}

// -1 and errno on failure.
int Open(Address* address, const config::ServingOptions& options, bool both_families) {
  const int family = address->get()->sa_family;
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int only_v6 = both_families ? 0 : 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));  // as Go does for every listener
  if (options.permit_port_sharing) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
  if (bind(fd, address->get(), address->size) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

}  // namespace

Result<Listener> Listen(const config::ServingOptions& options) {
  const std::string& host = options.bind_address;
  const bool all = host.empty() || host == "0.0.0.0" || host == "::";
  const std::string shown =
      (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(options.port);
  const auto fail = [&](const std::string& why) {
    return MakeError(Code::kUnavailable, "failed to create listener: failed to listen on " + shown +
                                             ": listen tcp " + shown + ": " + why);
  };
  if (options.port < 0 || options.port > 65535)
    return fail("address " + std::to_string(options.port) + ": invalid port");
  const auto port = static_cast<uint16_t>(options.port);
  Address address;
  if (!ToAddress(all ? "::" : host, port, &address)) return fail("no such IP address");
  int fd = Open(&address, options, all);
  if (fd < 0 && all && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
    ToAddress("0.0.0.0", port, &address);
    fd = Open(&address, options, all);
  }
  if (fd < 0) {
    const std::string reason =
        errno == EADDRINUSE ? "address already in use" : file::ErrnoText(errno);
    return fail("bind: " + reason);
  }
  Address bound;
  bound.size = sizeof(bound.storage);
  getsockname(fd, bound.get(), &bound.size);
  const bool v6 = bound.get()->sa_family == AF_INET6;
  return Listener{fd, ntohs(v6 ? bound.v6()->sin6_port : bound.v4()->sin_port)};
}

}  // namespace kcm::host::http
