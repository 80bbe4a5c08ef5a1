// SPDX-License-Identifier: Apache-2.0
// A small HTTP client for tests of the embedded server, over Poco: real requests, parsed answers,
// open watches.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace kcm::devcluster::test {

using Json = nlohmann::json;

struct Reply {
  int code = 0;
  std::string body, content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  Json json() const { return Json::parse(body, nullptr, false); }
};

struct Ask {
  std::string method = "GET", path = {}, body = {};
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::string token = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// One keep-alive connection. Not thread-safe.
class ApiClient {
 public:
  explicit ApiClient(uint16_t port);
  ~ApiClient();
  // Throws when there is no answer.
  Reply Do(const Ask& ask);
  Reply Get(const std::string& path) { return Do({"GET", path}); }
  Reply Post(const std::string& path, const Json& body) { return Do({"POST", path, body.dump()}); }
  Reply Put(const std::string& path, const Json& body) { return Do({"PUT", path, body.dump()}); }
  Reply Delete(const std::string& path) { return Do({"DELETE", path}); }
  Reply Merge(const std::string& path, const Json& body) {
    return Do({"PATCH", path, body.dump(), "application/merge-patch+json"});
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// An open watch: one JSON event per line.
class WatchStream {
 public:
  WatchStream(uint16_t port, const std::string& path);
  ~WatchStream();
  // The next event; blocks. Null when the stream has ended.
  Json Next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::test
