// SPDX-License-Identifier: Apache-2.0
// Whole requests at a running devcluster: whatever a client sends is answered.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "devcluster/server/server.h"
#include "fuzz/try.h"

namespace kcm::fuzz {
namespace {

devcluster::Server& TheServer() {
  static const std::unique_ptr<devcluster::Server> server = [] {
    devcluster::ServerOptions options;
    options.tls = false;
    auto made = std::make_unique<devcluster::Server>(options);
    Check(made->Start().ok(), "the server starts");
    return made;
  }();
  return *server;
}

// The answer to one request on a connection of its own; "" when the server closed it unanswered.
std::string Exchange(const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(TheServer().port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Check(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0, "it can be reached");
  std::string answer;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) >= 0) {
    char buffer[4096];
    for (ssize_t n = 0; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;)
      answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return answer;
}

constexpr const char* kContentTypes[] = {
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
};
constexpr const char* kMethods[] = {"GET",    "POST",  "PUT",  "PATCH",
                                    "DELETE", "PATCH", "POST", "PUT"};

}  // namespace

// First byte: method and content type; then the target, NUL, the body.
void Try(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  const auto parts = Parts(input.substr(1), 2);
  std::string target;
  for (const char c : parts[0]) {
    if (c > ' ' && c < 0x7f) target += c;
  }
  // A watch would stay open.
  if (target.empty() || target.front() != '/' || target.find("watch") != std::string::npos) return;
  const std::string answer = Exchange(
      std::string(kMethods[choice % 8]) + " " + target +
      " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: " +
      kContentTypes[(choice >> 3) % 7] + "\r\nContent-Length: " + std::to_string(parts[1].size()) +
      "\r\n\r\n" + std::string(parts[1]));
  Check(answer.starts_with("HTTP/1.1 "), "every request is answered");
  const int code = std::atoi(answer.c_str() + 9);
  Check(code >= 200 && code < 600, "every answer has a code");
  // The reference, too, answers some of the client's mistakes with 500; an exception that only the
  // dispatcher caught, or an object that can not be stored, is a mistake of ours.
  for (const char* mark : {"internal error: ", "cannot store the object"})
    Check(answer.find(mark) == std::string::npos, "no request breaks the server");
}

std::vector<std::string> Seeds() {
  using namespace std::string_view_literals;
  const auto seed = [](int method, int type, std::string_view target, std::string_view body) {
    return std::string(1, static_cast<char>(method | type << 3)) + Join({target, body});
  };
  const std::string_view map =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","labels":{"a":"b"},"finalizers":[]},"data":{"k":"v"}})";
  const std::string_view deployment =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}},"ports":[{"containerPort":80}]}]}}}})";
  const std::string_view crd =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ws.x.y"},"spec":{"group":"x.y","scope":"Namespaced","names":{"plural":"ws","kind":"W"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"n":{"type":"integer"}}}}}}}]}})";
  return {
      seed(1, 0, "/api/v1/namespaces/default/configmaps", map),
      seed(2, 0, "/api/v1/namespaces/default/configmaps/m", map),
      seed(1, 0, "/apis/apps/v1/namespaces/default/deployments?fieldValidation=Strict&dryRun=All",
           deployment),
      seed(1, 0, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd),
      seed(1, 0, "/apis/x.y/v1/namespaces/default/ws",
           R"({"apiVersion":"x.y/v1","kind":"W","metadata":{"name":"w"},"spec":{"n":1}})"),
      seed(3, 2, "/api/v1/namespaces/default/configmaps/m",
           R"([{"op":"add","path":"/data/x","value":"y"}])"),
      seed(3, 3, "/api/v1/namespaces/default/configmaps/m", R"({"data":{"k":null}})"),
      seed(3, 4, "/apis/apps/v1/namespaces/default/deployments/d",
           R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}})"),
      seed(3, 5, "/api/v1/namespaces/default/configmaps/m?fieldManager=f&force=true",
           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {z: \"1\"}\n"),
      seed(0, 0,
           "/api/v1/pods?labelSelector=a+in+(b,c)&fieldSelector=status.phase%3DRunning&limit=2",
           ""),
      seed(0, 0,
           "/apis/apps/v1/"
           "deployments?limit=1&continue=eyJ2IjoxfQ&resourceVersion=5&resourceVersionMatch=Exact",
           ""),
      seed(
          4, 0, "/api/v1/namespaces/default/configmaps/m",
          R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan","preconditions":{"uid":"u"}})"),
      seed(
          1, 0, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
          R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})"),
      seed(
          2, 0, "/apis/apps/v1/namespaces/default/deployments/d/scale",
          R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":3}})"),
      seed(1, 6, "/api/v1/namespaces",
           "k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x05\x0a\x03\x0a\x01n"sv),
  };
}

}  // namespace kcm::fuzz
