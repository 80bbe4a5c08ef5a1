// SPDX-License-Identifier: Apache-2.0
// Bytes of a client of devcluster: request lines, headers, bodies.
#include <sys/socket.h>
#include <unistd.h>

#include "devcluster/server/http_connection.h"
#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  int ends[2] = {-1, -1};
  if (input.size() > 32 * 1024 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  // Fits into the socket's buffer: nobody has to read while we write.
  const bool sent = send(ends[1], input.data(), input.size(), MSG_NOSIGNAL) >= 0;
  shutdown(ends[1], SHUT_WR);
  if (sent) {
    devcluster::Connection connection(ends[0], nullptr);
    devcluster::HttpRequest request;
    std::string error;
    using Read = devcluster::Connection::Read;
    Read outcome = Read::kRequest;
    for (int i = 0; i < 100 && outcome == Read::kRequest; ++i) {
      request = {};
      outcome = connection.ReadRequest(&request, &error);
      if (outcome == Read::kRequest) {
        Check(!request.method.empty() && !request.target.empty(), "a request has a target");
        (void)request.Header("content-type");
      } else if (outcome == Read::kBad) {
        Check(!error.empty(), "a bad request is told why");
      }
    }
  } else {
    close(ends[0]);
  }
  close(ends[1]);
}

std::vector<std::string> Seeds() {
  return {"GET /api/v1/pods?limit=5 HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n",
          "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
          "PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0;x=y\r\nT: r\r\n\r\n",
          "PATCH /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}"};
}

}  // namespace kcm::fuzz
