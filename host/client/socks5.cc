// SPDX-License-Identifier: Apache-2.0
// SOCKS5: greeting, optional user and password, CONNECT by name.
#include "host/client/socks5.h"

#include "host/client/connection.h"

namespace kcm::host::client {
namespace {

constexpr char kVersion = 5;
constexpr char kNoAuth = 0;
constexpr char kUserPassword = 2;

Status ReadExactly(Connection* connection, char* to, size_t size, SocketDeadline deadline) {
  while (size > 0) {
    const Result<size_t> n = connection->Read(to, size, deadline);
    if (!n.ok()) return n.error();
    if (*n == 0) return TransportError(kCauseEof, "socks5 proxy closed the connection");
    to += *n;
    size -= *n;
  }
  return Ok();
}

Status Authenticate(Connection* connection, const Proxy& proxy, SocketDeadline deadline) {
  if (proxy.username.size() > 255 || proxy.password.size() > 255) {
    return TransportError(kCauseOther, "socks5 proxy: user or password longer than 255 bytes");
  }
  std::string request(1, '\1');
  request += static_cast<char>(proxy.username.size());
  request += proxy.username;
  request += static_cast<char>(proxy.password.size());
  request += proxy.password;
  Status status = connection->Write(request, deadline);
  char answer[2] = {};
  if (status.ok()) status = ReadExactly(connection, answer, sizeof answer, deadline);
  if (status.ok() && answer[1] != 0)
    return TransportError(kCauseOther, "socks5 proxy refused user and password");
  return status;
}

}  // namespace

Status Socks5Connect(Connection* connection, const Proxy& proxy, const std::string& host,
                     uint16_t port, SocketDeadline deadline) {
  if (host.size() > 255)
    return TransportError(kCauseOther, "socks5 proxy: host name longer than 255 bytes");
  const bool user = !proxy.username.empty();
  std::string greeting = {kVersion, static_cast<char>(user ? 2 : 1), kNoAuth};
  if (user) greeting += kUserPassword;
  Status status = connection->Write(greeting, deadline);
  char method[2] = {};
  if (status.ok()) status = ReadExactly(connection, method, sizeof method, deadline);
  if (!status.ok()) return status;
  if (method[0] != kVersion || (method[1] != kNoAuth && !(user && method[1] == kUserPassword))) {
    return TransportError(kCauseOther, "socks5 proxy offers no authentication method of ours");
  }
  if (method[1] == kUserPassword) status = Authenticate(connection, proxy, deadline);
  if (!status.ok()) return status;

  std::string request = {kVersion, 1 /* CONNECT */, 0, 3 /* by name */,
                         static_cast<char>(host.size())};
  request += host;
  request += static_cast<char>(port >> 8);
  request += static_cast<char>(port & 0xff);
  status = connection->Write(request, deadline);
  char head[5] = {};
  if (status.ok()) status = ReadExactly(connection, head, sizeof head, deadline);
  if (!status.ok()) return status;
  if (head[1] != 0) {
    return TransportError(kCauseOther, "socks5 proxy could not connect to " + host + ": code " +
                                           std::to_string(head[1]));
  }
  // The bound address is of no use, but it must be read: 4 or 16 bytes or a name, and a port; one
  // byte is read already.
  const size_t address = head[3] == 1   ? 4
                         : head[3] == 4 ? 16
                                        : size_t{static_cast<unsigned char>(head[4])} + 1;
  char rest[258];
  return ReadExactly(connection, rest, address - 1 + 2, deadline);
}

}  // namespace kcm::host::client
