// SPDX-License-Identifier: Apache-2.0
// The tests' HTTP client (api_client.h).
#include "devcluster/server/api_client.h"

#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/StreamCopier.h>

#include <stdexcept>

namespace kcm::devcluster::test {

using Poco::Net::HTTPClientSession;
using Poco::Net::HTTPRequest;
using Poco::Net::HTTPResponse;

struct ApiClient::Impl {
  explicit Impl(uint16_t port) : session("127.0.0.1", port) { session.setKeepAlive(true); }
  HTTPClientSession session;
};

ApiClient::ApiClient(uint16_t port) : impl_(std::make_unique<Impl>(port)) {}
ApiClient::~ApiClient() = default;

Reply ApiClient::Do(const Ask& ask) {
  HTTPRequest request(ask.method, ask.path, HTTPRequest::HTTP_1_1);
  request.set("Accept", ask.accept);
  request.set("User-Agent", "test/1.0");
  request.setKeepAlive(true);
  if (!ask.token.empty()) request.set("Authorization", "Bearer " + ask.token);
  for (const auto& [name, value] : ask.headers) request.add(name, value);
  if (!ask.body.empty()) request.setContentType(ask.content_type);
  request.setContentLength(static_cast<std::streamsize>(ask.body.size()));
  impl_->session.sendRequest(request) << ask.body;
  HTTPResponse response;
  std::istream& in = impl_->session.receiveResponse(response);
  Reply reply;
  reply.code = static_cast<int>(response.getStatus());
  reply.content_type = response.getContentType();
  for (const auto& [name, value] : response) reply.headers.emplace_back(name, value);
  Poco::StreamCopier::copyToString(in, reply.body);
  return reply;
}

struct WatchStream::Impl {
  explicit Impl(uint16_t port) : session("127.0.0.1", port) {}
  HTTPClientSession session;
  std::istream* in = nullptr;
};

WatchStream::WatchStream(uint16_t port, const std::string& path)
    : impl_(std::make_unique<Impl>(port)) {
  HTTPRequest request("GET", path, HTTPRequest::HTTP_1_1);
  request.set("Accept", "application/json");
  impl_->session.sendRequest(request);
  HTTPResponse response;
  impl_->in = &impl_->session.receiveResponse(response);
}
WatchStream::~WatchStream() = default;

Json WatchStream::Next() {
  std::string line;
  if (!std::getline(*impl_->in, line) || line.empty()) {
    if (impl_->in->bad()) throw std::runtime_error("the watch said nothing for a minute");
    return nullptr;
  }
  return Json::parse(line, nullptr, false);
}

}  // namespace kcm::devcluster::test
