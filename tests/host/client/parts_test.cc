// SPDX-License-Identifier: Apache-2.0
// The client's pure parts: request lines, response heads, proxies, user agents, token files, exec
// plugins, discovery documents.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "harness/temporary_dir.h"
#include "host/client/credentials.h"
#include "host/client/discovery_parse.h"
#include "host/client/http_exchange.h"
#include "host/client/process.h"
#include "host/client/proxy.h"
#include "host/client/request.h"
#include "host/client/user_agent.h"

namespace kcm::host::client {
namespace {

using namespace std::chrono_literals;

TEST(Request, PathsOfEveryShape) {
  const struct {
    const char* name;
    Call call;
    const char* want;
  } rows[] = {
      {"core list", {.verb = Verb::kList, .resource = {"", "v1", "pods"}}, "/api/v1/pods"},
      {"group in namespace",
       {.verb = Verb::kCreate, .resource = {"apps", "v1", "deployments"}, .ns = "d"},
       "/apis/apps/v1/namespaces/d/deployments"},
      {"subresource",
       {.verb = Verb::kUpdate,
        .resource = {"apps", "v1", "deployments"},
        .ns = "d",
        .name = "w",
        .subresource = "scale"},
       "/apis/apps/v1/namespaces/d/deployments/w/scale"},
      {"cluster scope",
       {.verb = Verb::kGet, .resource = {"", "v1", "nodes"}, .name = "n"},
       "/api/v1/nodes/n"},
      {"odd name",
       {.verb = Verb::kGet, .resource = {"", "v1", "nodes"}, .name = "a/b c"},
       "/api/v1/nodes/a%2Fb%20c"},
      {"watch with query",
       {.verb = Verb::kWatch, .resource = {"", "v1", "pods"}, .query = "x=1", .timeout = 450s},
       "/api/v1/pods?watch=true&x=1&timeout=7m30s"},
      {"raw with query", {.raw_path = "/healthz?a", .timeout = 5s}, "/healthz?a&timeout=5s"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(TargetOf(row.call), row.want);
  }
}

TEST(Request, AsksForProtobufOnlyWhereItCanReadIt) {
  Call call{.verb = Verb::kGet, .resource = {"apps", "v1", "deployments"}};
  EXPECT_EQ(AcceptOf(call, false).value, "application/vnd.kubernetes.protobuf,application/json");
  EXPECT_EQ(AcceptOf(call, true).value, "application/json");
  call.verb = Verb::kWatch;
  EXPECT_EQ(AcceptOf(call, false).value,
            "application/vnd.kubernetes.protobuf;stream=watch,application/json");
  call.resource = {"gold.example.com", "v1", "widgets"};
  EXPECT_EQ(AcceptOf(call, false).value, "application/json");
  call.form = Form::kMetadataOnly;
  call.verb = Verb::kList;
  EXPECT_EQ(AcceptOf(call, false).value,
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
}

TEST(ResponseHead, ReadsWhatMattersAndRefusesNonsense) {
  const Result<ResponseHead> head = ParseResponseHead(
      "HTTP/1.1 429 Too Many\r\ncontent-TYPE:  text/plain \r\nContent-Length: 12\r\nRetry-After: "
      "3\r\nConnection: close\r\n");
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->status, 429);
  EXPECT_EQ(head->content_type, "text/plain");
  EXPECT_EQ(head->content_length, 12);
  EXPECT_EQ(head->retry_after_seconds, 3);
  EXPECT_FALSE(head->keep_alive);
  for (const char* bad :
       {"", "HTTP/1.1", "SPDY/1.1 200 OK\r\n", "HTTP/1.1 2x0 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n"}) {
    EXPECT_FALSE(ParseResponseHead(bad).ok()) << bad;
  }
}

TEST(Proxy, EnvironmentAndExceptions) {
  const EnvLookup env = [](const std::string& name) -> std::optional<std::string> {
    if (name == "HTTPS_PROXY") return "http://u:p@proxy:3128";
    if (name == "NO_PROXY") return "other.org, .corp, 10.0.0.0/8, *.x.y, h.z:1234";
    return std::nullopt;
  };
  const struct {
    const char* server;
    bool proxied;
  } rows[] = {
      {"https://api.example", true}, {"http://api.example", false}, {"https://localhost:1", false},
      {"https://127.0.0.1", false},  {"https://other.org", false},  {"https://a.other.org", false},
      {"https://a.corp", false},     {"https://corp", true},        {"https://10.1.2.3", false},
      {"https://11.1.2.3", true},    {"https://a.x.y", false},      {"https://h.z", true},
      {"https://h.z:1234", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.server);
    const Result<Proxy> p = ChooseProxy("", *ParseServer(row.server), env);
    ASSERT_TRUE(p.ok());
    EXPECT_EQ(p->kind == Proxy::Kind::kHttp, row.proxied);
  }
  const Result<Proxy> given =
      ChooseProxy("socks5://s:1080", *ParseServer("https://127.0.0.1"), env);
  EXPECT_EQ(given->kind, Proxy::Kind::kSocks5);
  EXPECT_EQ(ChooseProxy("https://s", *ParseServer("https://h"), env).code(), Code::kUnsupported);
  const Result<Proxy> p = ChooseProxy("", *ParseServer("https://h"), env);
  EXPECT_EQ(ConnectRequest(*p, "h:443"),
            "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
}

TEST(UserAgent, HasThePartsOfTheReference) {
  const std::string arch = UserAgent("a", "v", "c", "").substr(12);
  EXPECT_TRUE(UserAgent("/usr/bin/kube-controller-manager", "v1.36.2-rc1", "abcdef0123",
                        "deployment-controller")
                  .starts_with("kube-controller-manager/v1.36.2 (linux/"));
  EXPECT_TRUE(UserAgent("x", "v1", "abcdef0123", "s").ends_with(") kubernetes/abcdef0/s"));
  EXPECT_TRUE(UserAgent("", "", "", "").starts_with("unknown/unknown (linux/"));
  EXPECT_TRUE(UserAgent("", "", "", "").ends_with(" kubernetes/unknown"));
}

TEST(TokenFile, IsReadAgainAfterFiftySecondsAndKeepsTheLastGoodOne) {
  const harness::TemporaryDir files;
  clock::VirtualClock clock;
  const std::string path = files.Write("token", " A\n");
  TokenFile token(path, &clock, log::Logger());
  EXPECT_EQ(*token.Get(), "A");
  files.Write("token", "B");
  clock.Advance(49s);
  EXPECT_EQ(*token.Get(), "A");
  clock.Advance(1s);
  EXPECT_EQ(*token.Get(), "B");
  files.Write("token", "");
  clock.Advance(1min);
  EXPECT_EQ(*token.Get(), "B");
  TokenFile never(files / "none", &clock, log::Logger());
  EXPECT_FALSE(never.Get().ok());
}

struct Exec {
  explicit Exec(const std::string& script) {
    Config config;
    config.server = "https://h";
    ExecConfig exec;
    exec.command = files.Write("plugin", "#!/bin/sh\n" + script);
    chmod(exec.command.c_str(), 0755);
    exec.api_version = "client.authentication.k8s.io/v1";
    exec.interactive_mode = "Never";
    exec.provide_cluster_info = true;
    exec.env = {{"WORD", "w"}};
    config.exec = exec;
    credentials =
        MakeCredentials(config, {&clock, log::Logger(), nullptr, [this](const ExecPair& p) {
                                   pair = p;
                                   return Ok();
                                 }});
  }
  const harness::TemporaryDir files;
  clock::VirtualClock clock;
  ExecPair pair;
  std::unique_ptr<Credentials> credentials;
};

std::string Answer(const std::string& status) {
  return R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" +
         status + "}'";
}

TEST(RunProcess, AChildThatClosesItsOutputAndStaysIsKilled) {
  const Result<ProcessResult> run =
      RunProcess("/bin/sh", {"-c", "echo token; exec 1>&-; exec sleep 1000"}, {}, 1s);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.code(), Code::kTimeout);
  EXPECT_EQ(run.error().message, "did not end in time");
}

TEST(RunProcess, OutputAndExitCode) {
  const Result<ProcessResult> run =
      RunProcess("/bin/sh", {"-c", "echo $WORD; exec 1>&-; exit 3"}, {{"WORD", "w"}});
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->out, "w\n");
  EXPECT_EQ(run->exit_code, 3);
}

TEST(ExecPlugin, IsCachedUntilItExpiresOrIsRejected) {
  Exec exec(
      "echo x >> \"$0.runs\"; N=$(wc -l < \"$0.runs\"); " +
      std::string(
          R"(printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t%d","expirationTimestamp":"2030-01-01T01:00:00Z"}}' $N)"));
  EXPECT_EQ(*exec.credentials->Authorization(), "Bearer t1");
  EXPECT_EQ(*exec.credentials->Authorization(), "Bearer t1");
  exec.credentials->Rejected("Bearer old");
  EXPECT_EQ(*exec.credentials->Authorization(), "Bearer t1") << "another credential was rejected";
  exec.credentials->Rejected("Bearer t1");
  EXPECT_EQ(*exec.credentials->Authorization(), "Bearer t2");
  exec.clock.Advance(1h);
  EXPECT_EQ(*exec.credentials->Authorization(), "Bearer t3");
}

TEST(ExecPlugin, GetsInfoAndEnvironmentAndMayGiveAPair) {
  Exec exec(
      R"(case "$KUBERNETES_EXEC_INFO" in *'"server":"https://h"'*) ;; *) exit 7;; esac; [ "$WORD" = w ] || exit 8; )" +
      Answer(R"({"clientCertificateData":"c","clientKeyData":"k"})"));
  const Result<std::string> header = exec.credentials->Authorization();
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(*header, "");
  EXPECT_EQ(exec.pair.cert_pem, "c");
  EXPECT_EQ(exec.pair.key_pem, "k");
}

TEST(ExecPlugin, ErrorsNameThePart) {
  const struct {
    const char* name;
    std::string script;
    const char* want;
  } rows[] = {
      {"exit code", "exit 3", "failed with exit code 3"},
      {"no json", "echo x", "not an ExecCredential"},
      {"no status",
       R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}')",
       "didn't return a status"},
      {"other version",
       R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{}}')",
       "plugin returned version client.authentication.k8s.io/v1beta1"},
      {"nothing", Answer("{}"), "didn't return a token or cert/key pair"},
      {"half a pair", Answer(R"({"clientKeyData":"k"})"), "only certificate or key"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Exec exec(row.script);
    const Result<std::string> header = exec.credentials->Authorization();
    ASSERT_FALSE(header.ok());
    EXPECT_NE(header.error().message.find(row.want), std::string::npos) << header.error().message;
  }
}

TEST(DiscoveryDocuments, AggregatedFormWithStaleVersionsAndKindless) {
  DiscoveryDocument d;
  EXPECT_EQ(ParseAggregated(R"({"items":[{"metadata":{"name":"apps"},"versions":[
    {"version":"v2","freshness":"Stale","resources":[]},
    {"version":"v1","freshness":"Current","resources":[
      {"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","verbs":["get","list"],
       "subresources":[{"subresource":"status"},{"subresource":"scale"}]},
      {"resource":"odd","scope":"Cluster","verbs":["get"]}]}]}]})",
                            &d),
            "");
  ASSERT_EQ(d.result.resources.size(), 1u);
  EXPECT_EQ(d.result.resources[0].kind, "Deployment");
  EXPECT_TRUE(d.result.resources[0].namespaced);
  EXPECT_TRUE(d.result.resources[0].Supports("list"));
  EXPECT_FALSE(d.result.resources[0].Supports("watch"));
  EXPECT_EQ(d.result.resources[0].subresources, (std::vector<std::string>{"status", "scale"}));
  ASSERT_EQ(d.result.failed.size(), 1u);
  EXPECT_EQ(d.result.failed[0].second, "stale GroupVersion discovery: apps/v2");
  EXPECT_TRUE(d.IsPreferred({"apps", "v1", "deployments"}));
}

TEST(DiscoveryDocuments, PlainFormsAndHostileOnes) {
  DiscoveryDocument d;
  std::vector<std::string> versions;
  EXPECT_EQ(
      ParseGroupList(
          R"({"groups":[{"name":"autoscaling","preferredVersion":{"groupVersion":"autoscaling/v2"},
    "versions":[{"groupVersion":"autoscaling/v2"},{"groupVersion":"autoscaling/v1"}]}]})",
          &d, &versions),
      "");
  EXPECT_EQ(versions, (std::vector<std::string>{"autoscaling/v2", "autoscaling/v1"}));
  EXPECT_EQ(
      ParseResourceList(
          R"({"resources":[{"name":"x/status","kind":"X","verbs":["get"]},{"name":"x","kind":"X","namespaced":true,"verbs":["get"]}]})",
          "g/v1", &d),
      "");
  ASSERT_EQ(d.result.resources.size(), 1u);
  EXPECT_EQ(d.result.resources[0].gvr, (Gvr{"g", "v1", "x"}));
  EXPECT_EQ(d.result.resources[0].subresources, (std::vector<std::string>{"status"}));
  for (
      const char* bad :
      {"", "[]", "{", "null",
       R"({"items":[1,{"metadata":3,"versions":{}}],"groups":[4,{"versions":[1]}],"resources":[5,{"verbs":1}]})"}) {
    (void)ParseAggregated(bad, &d);
    (void)ParseGroupList(bad, &d, &versions);
    (void)ParseResourceList(bad, "g/v1", &d);
  }
}

}  // namespace
}  // namespace kcm::host::client
