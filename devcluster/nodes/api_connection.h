// SPDX-License-Identifier: Apache-2.0
// ApiConnection: one keep-alive HTTP/1.1 connection to an API server, for requests or for one watch
// stream.
//
//   Result<std::shared_ptr<ApiServer>> server = ApiServer::Make(endpoint);
//   ApiConnection c(*server);
//   Answer a = c.Call("GET", "/api/v1/nodes");
//   if (a.status != 200) Complain(a.Describe());
//
// Server certificates and host names are always verified, loopback too, unless the kubeconfig says
// otherwise.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "devcluster/nodes/endpoint.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster::nodes {

inline constexpr char kJson[] = "application/json";
inline constexpr char kMergePatch[] = "application/merge-patch+json";
inline constexpr char kStrategicPatch[] = "application/strategic-merge-patch+json";

struct Answer {
  int status = 0;  // 0: no answer, `body` then says why
  std::string body;
  bool ok() const { return status >= 200 && status < 300; }
  // Worth another try: no answer, 429 or 5xx.
  bool Passing() const { return status == 0 || status == 429 || status >= 500; }
  // "403: nodes is forbidden ..." for messages.
  std::string Describe() const;
};

// Where connections go: the endpoint and its prepared TLS context. Thread-safe, shared by
// connections.
class ApiServer {
 public:
  static Result<std::shared_ptr<ApiServer>> Make(Endpoint endpoint);
  ~ApiServer();

 private:
  friend class ApiConnection;
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Used by one thread, except Abort. Connects when first used and again whenever the connection was
// lost.
class ApiConnection {
 public:
  explicit ApiConnection(std::shared_ptr<ApiServer> server);
  ~ApiConnection();

  // One exchange. A request that fails on a connection that was kept alive is sent once more on a
  // fresh one (the server may have closed it meanwhile); nothing else is retried.
  Answer Call(const std::string& method, const std::string& path, const std::string& body = {},
              const char* content_type = kJson);

  // Opens a stream (a watch); its lines are then read with ReadLine. The answer's body is filled
  // only on an error.
  Answer OpenStream(const std::string& path);
  // Next line without its end. False at the end of the stream or after Abort. Blocks.
  bool ReadLine(std::string* line);

  // Ends a blocked Call or ReadLine; everything after it fails at once. Any thread.
  void Abort();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
