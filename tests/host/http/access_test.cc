// SPDX-License-Identifier: Apache-2.0
// Who may read what: authentication and authorization over real TLS (spec/host.md 9.3, 9.6).
#include "host/http/authentication.h"
#include "host/http/authorization.h"
#include "host/http/server_fixture.h"

namespace kcm::host::http {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class Access : public ServerTest {};

TEST_F(Access, HOST_39_AnonymousSeesHealthAlone) {
  Start();
  server_->health().Add("leaderElection", [] { return Ok(); });
  const test::Reply health = Get("/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "ok");
  EXPECT_EQ(health.headers.at("cache-control"), "no-cache, private");
  EXPECT_EQ(health.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(health.headers.at("x-content-type-options"), "nosniff");

  const test::Reply metrics = Get("/metrics");
  EXPECT_EQ(metrics.status, 403);
  EXPECT_EQ(metrics.headers.at("content-type"), "application/json");
  EXPECT_EQ(metrics.body,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
            "\"message\":\"forbidden: User "
            "\\\"system:anonymous\\\" cannot get path "
            "\\\"/metrics\\\"\",\"reason\":\"Forbidden\",\"details\":{},\"code\":403}\n");

  const test::Reply livez = Get("/livez");
  EXPECT_EQ(livez.status, 404);
  EXPECT_EQ(livez.body, "404 page not found\n");
  EXPECT_EQ(Get("/healthz/leaderElection").status, 403);
  EXPECT_EQ(Get("/nothing/here").status, 403) << "what exists is not for strangers";
}

TEST_F(Access, BearerTokenIsReviewedOnceAndCached) {
  Start();
  EXPECT_EQ(GetAs("token-prometheus", "/metrics").status, 200);
  EXPECT_EQ(GetAs("token-prometheus", "/metrics").status, 200);
  ASSERT_EQ(reviews_.token_requests.size(), 1u);
  EXPECT_EQ(reviews_.token_requests[0],
            Json::parse(R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1",
      "metadata":{"creationTimestamp":null},"spec":{"token":"token-prometheus"}})"));
  ASSERT_EQ(reviews_.access_requests.size(), 1u);
  EXPECT_EQ(reviews_.access_requests[0],
            Json::parse(R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1",
      "metadata":{"creationTimestamp":null},"spec":{"user":"prometheus","groups":["system:monitoring","system:authenticated"],
      "nonResourceAttributes":{"path":"/metrics","verb":"get"}}})"));
  clock_.Advance(std::chrono::seconds(11));
  EXPECT_EQ(GetAs("token-prometheus", "/metrics").status, 200);
  EXPECT_EQ(reviews_.token_requests.size(), 2u);
  EXPECT_EQ(reviews_.access_requests.size(), 2u);
  for (const std::string& line : LogLines())
    EXPECT_THAT(line, testing::Not(HasSubstr("token-prometheus")));
}

TEST_F(Access, ABadTokenIsRefusedEverywhere) {
  Start();
  const test::Reply r = GetAs("wrong", "/healthz");
  EXPECT_EQ(r.status, 401);
  EXPECT_EQ(r.body,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
            "\"message\":\"Unauthorized\","
            "\"reason\":\"Unauthorized\",\"code\":401}\n");
  EXPECT_EQ(GetAs("wrong", "/healthz").status, 401);
  EXPECT_EQ(reviews_.token_requests.size(), 1u) << "bad answers are cached too";
  const test::Reply other_scheme = test::Send(
      server_->port(), {.target = "/healthz", .headers = {{"Authorization", "Token wrong"}}});
  EXPECT_EQ(other_scheme.status, 200) << "another scheme is nobody's token";
}

TEST_F(Access, HOST_42_WithoutDelegationOnlyMastersOfAGivenCaGetIn) {
  const test::TestCa ca("ca");
  ServerOptions options = Options({"--client-ca-file=" + Write("ca.crt", ca.pem())});
  options.authentication_client = nullptr;
  options.authorization_client = nullptr;
  StartWith(std::move(options));
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/metrics").status, 403);
  EXPECT_EQ(GetAs("token-prometheus", "/metrics").status, 403) << "tokens are not looked at";
  EXPECT_EQ(GetWith(ca.Client("alice", {"dev"}), "/metrics").status, 403);
  EXPECT_EQ(GetWith(ca.Client("admin", {"dev", "system:masters"}), "/metrics").status, 200);
  EXPECT_TRUE(reviews_.token_requests.empty());
}

TEST_F(Access, ClientCertificates) {
  const test::TestCa ca("ca");
  const test::TestCa stranger("stranger");
  Start({"--client-ca-file=" + Write("ca.crt", ca.pem())});
  EXPECT_EQ(GetWith(ca.Client("alice", {"system:monitoring"}), "/metrics").status, 200);
  const Json spec = reviews_.access_requests.at(0)["spec"];
  EXPECT_EQ(spec["user"], "alice");
  EXPECT_EQ(spec["groups"], (Json{"system:monitoring", "system:authenticated"}));
  EXPECT_THAT(spec["extra"]["authentication.kubernetes.io/credential-id"][0].get<std::string>(),
              testing::MatchesRegex("X509SHA256=[0-9a-f]{64}"));
  EXPECT_EQ(GetWith(stranger.Client("alice", {"system:masters"}), "/healthz").status, 401)
      << "on every path";
  EXPECT_EQ(GetWith(ca.Server("localhost"), "/healthz").status, 401)
      << "not a client's certificate";
  const test::Reply both =
      test::Send(server_->port(), {.target = "/metrics",
                                   .headers = {{"Authorization", "Bearer token-bob"}},
                                   .client = stranger.Client("x")});
  EXPECT_EQ(both.status, 200) << "one success is enough";
  EXPECT_EQ(Get("/healthz").status, 200) << "a certificate is asked for, not required";
}

TEST_F(Access, FrontProxyFromTheConfigMap) {
  const test::TestCa proxy_ca("proxy-ca");
  const test::TestCa client_ca("client-ca");
  reviews_.config_map = Json({{"data",
                               {{"client-ca-file", client_ca.pem()},
                                {"requestheader-client-ca-file", proxy_ca.pem()},
                                {"requestheader-allowed-names", "[\"front-proxy-client\"]"},
                                {"requestheader-username-headers", "[\"X-Remote-User\"]"},
                                {"requestheader-group-headers", "[\"X-Remote-Group\"]"},
                                {"requestheader-uid-headers", "[\"X-Remote-Uid\"]"},
                                {"requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]"}}}})
                            .dump();
  Start();
  test::Call call{.target = "/metrics",
                  .headers = {{"X-Remote-User", "carol"},
                              {"X-Remote-Group", "a"},
                              {"X-Remote-Group", "system:monitoring"},
                              {"X-Remote-Uid", "42"},
                              {"X-Remote-Extra-Acme%2fscopes", "s1"}},
                  .client = proxy_ca.Client("front-proxy-client")};
  EXPECT_EQ(test::Send(server_->port(), call).status, 200);
  const Json spec = reviews_.access_requests.at(0)["spec"];
  EXPECT_EQ(spec["user"], "carol");
  EXPECT_EQ(spec["uid"], "42");
  EXPECT_EQ(spec["groups"], (Json{"a", "system:monitoring", "system:authenticated"}));
  EXPECT_EQ(spec["extra"], (Json{{"acme/scopes", {"s1"}}}));
  call.client = proxy_ca.Client("somebody-else");
  EXPECT_EQ(test::Send(server_->port(), call).status, 401) << "not in the allowed names";
  call.client = std::nullopt;
  EXPECT_EQ(test::Send(server_->port(), call).status, 403)
      << "headers without the proxy's certificate say nothing";
  EXPECT_EQ(GetWith(client_ca.Client("dave", {"system:monitoring"}), "/metrics").status, 200);
}

TEST_F(Access, ConfigMapChangesApplyWithoutRestart) {
  const test::TestCa ca("ca");
  Start();
  EXPECT_EQ(GetWith(ca.Client("m", {"system:masters"}), "/metrics").status, 403)
      << "nobody is asked for a certificate";
  {
    const std::lock_guard lock(reviews_.mutex);
    reviews_.config_map = Json({{"data", {{"client-ca-file", ca.pem()}}}}).dump();
  }
  clock_.Advance(std::chrono::seconds(61));
  EXPECT_EQ(GetWith(ca.Client("m", {"system:masters"}), "/metrics").status, 200);
}

TEST_F(Access, LookupFailureIsFatalUnlessTolerated) {
  reviews_.config_map = Result<std::string>(MakeError(Code::kForbidden, "configmaps is forbidden"));
  const auto strict = Server::Start(Options({}));
  ASSERT_FALSE(strict.ok());
  EXPECT_THAT(
      strict.error().message,
      HasSubstr(
          "unable to load configmap based request-header-client-ca-file: configmaps is forbidden"));
  EXPECT_TRUE(Server::Start(Options({"--authentication-tolerate-lookup-failure"})).ok());
  EXPECT_TRUE(Server::Start(Options({"--authentication-skip-lookup"})).ok());
}

TEST_F(Access, HOST_43_ABrokenReviewIsA500) {
  reviews_.access = [](const Json&) -> Result<std::string> {
    Error e = MakeError(Code::kUnauthorized, "Unauthorized");
    e.http_status = 401;
    return e;
  };
  Start();
  const test::Reply metrics = GetAs("token-bob", "/metrics");
  EXPECT_EQ(metrics.status, 500);
  EXPECT_EQ(metrics.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(metrics.body, "Internal Server Error: \"/metrics\": Unauthorized\n");
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(reviews_.access_requests.size(), 1u) << "401 is no passing failure";
}

TEST_F(Access, HOST_44_AlwaysAllowedPathsNeedNobody) {
  Start({"--authorization-always-allow-paths=/healthz,/metrics*"});
  EXPECT_EQ(Get("/metrics").status, 200);
  EXPECT_EQ(Get("/metrics/slis").status, 200);
  EXPECT_EQ(Get("/configz").status, 403);
  EXPECT_EQ(Get("/metric%73").status, 200) << "the decoded path counts";
}

TEST(PathMatches, ExactOrOneTrailingStar) {
  const struct {
    const char* pattern;
    const char* path;
    bool want;
  } rows[] = {{"/healthz", "/healthz", true},
              {"healthz", "/healthz", true},
              {"/healthz", "/healthz/x", false},
              {"/metrics*", "/metrics", true},
              {"/metrics*", "/metrics/slis", true},
              {"/debug/*", "/debug", false},
              {"/*", "/anything", true},
              {"*", "/", true}};
  for (const auto& row : rows)
    EXPECT_EQ(PathMatches(row.pattern, row.path), row.want) << row.pattern << " " << row.path;
}

TEST(BearerToken, SchemeIsFoldedAndBlanksGo) {
  EXPECT_EQ(BearerToken({{"authorization", "bearer  abc "}}), "abc");
  EXPECT_EQ(BearerToken({{"Authorization", "Basic abc"}}), "");
  EXPECT_EQ(BearerToken({{"Authorization", "Bearer"}}), "");
  EXPECT_EQ(BearerToken({{"Authorization", "Bearer abc def"}}), "abc");
}

}  // namespace
}  // namespace kcm::host::http
