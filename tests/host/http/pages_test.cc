// SPDX-License-Identifier: Apache-2.0
// What the endpoints answer (spec/host.md 9.1, 9.2, 9.4, 9.5, 10.1).
#include <zlib.h>

#include "host/http/server_fixture.h"
#include "host/http/z_pages.h"

namespace kcm::host::http {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

class Pages : public ServerTest {
 protected:
  test::Reply Admin(const std::string& target,
                    std::vector<std::pair<std::string, std::string>> headers = {}) {
    headers.emplace_back("Authorization", "Bearer token-admin");
    return test::Send(server_->port(), {.target = target, .headers = std::move(headers)});
  }
};

TEST_F(Pages, HealthWithoutChecksIsPing) {
  Start();
  EXPECT_EQ(Get("/healthz?verbose").body, "[+]ping ok\nhealthz check passed\n");
}

// The body of HOST-41, with the checks registered by hand.
TEST_F(Pages, HealthVerboseAndExclude) {
  Start();
  server_->health().Add("leaderElection", [] { return Ok(); });
  server_->health().Add("deployment-controller", [] { return Ok(); });
  const test::Reply r = Get("/healthz?verbose&exclude=leaderElection&exclude=nope");
  EXPECT_EQ(r.status, 200);
  EXPECT_EQ(r.body,
            "[+]leaderElection excluded: ok\n[+]deployment-controller ok\n"
            "warn: some health checks cannot be excluded: no matches for \"nope\"\nhealthz check "
            "passed\n");
}

TEST_F(Pages, FailingHealthHidesTheReason) {
  ServerOptions options = Options({});
  options.log.SetVerbosity(2);
  StartWith(std::move(options));
  server_->health().Add("good", [] { return Ok(); });
  server_->health().Add("bad",
                        []() -> Status { return MakeError(Code::kInternal, "secret reason"); });
  server_->health().Add("worse", []() -> Status { throw std::runtime_error("thrown"); });
  test::Reply r = Get("/healthz");
  EXPECT_EQ(r.status, 500);
  EXPECT_EQ(r.body,
            "[+]good ok\n[-]bad failed: reason withheld\n[-]worse failed: reason withheld\nhealthz "
            "check failed\n");
  EXPECT_THAT(LogLines(), testing::Contains(HasSubstr("bad: secret reason; worse: thrown")));
  EXPECT_EQ(Get("/healthz?exclude=bad&exclude=worse").status, 200);
  server_->health().Remove("bad");
  server_->health().Remove("worse");
  EXPECT_EQ(Get("/healthz").body, "ok");
  const std::string metrics = Admin("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("kubernetes_healthcheck{name=\"bad\",type=\"healthz\"} 0"));
  EXPECT_THAT(
      metrics,
      HasSubstr(
          "kubernetes_healthchecks_total{name=\"good\",type=\"healthz\",status=\"success\"} 3"));
}

TEST_F(Pages, MetricsFormats) {
  Start();
  metric::Description d;
  d.name = "kcm_test_total";
  d.help = "Counts.";
  metrics_.Counter(d).With({}).Add(3);
  test::Reply r = Admin("/metrics");
  EXPECT_EQ(r.status, 200);
  EXPECT_THAT(r.headers.at("content-type"), StartsWith("text/plain; version=0.0.4; charset=utf-8"));
  EXPECT_THAT(r.body, HasSubstr("# HELP kcm_test_total [ALPHA] Counts.\n# TYPE kcm_test_total "
                                "counter\nkcm_test_total 3\n"));
  r = Admin("/metrics",
            {{"Accept", "application/openmetrics-text; version=1.0.0,text/plain;q=0.5"}});
  EXPECT_THAT(r.headers.at("content-type"),
              StartsWith("application/openmetrics-text; version=1.0.0"));
  EXPECT_THAT(r.body, EndsWith("# EOF\n"));
  r = Admin("/metrics", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(r.headers.at("content-encoding"), "gzip");
  z_stream z{};
  ASSERT_EQ(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
  std::string plain(1 << 20, '\0');
  std::vector<unsigned char> in(r.body.begin(), r.body.end());
  std::vector<unsigned char> out(plain.size());
  z.next_in = in.data();
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
  plain.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(z.total_out));
  inflateEnd(&z);
  EXPECT_THAT(plain, HasSubstr("kcm_test_total 3\n"));
  EXPECT_EQ(test::Send(server_->port(), {.method = "DELETE",
                                         .target = "/metrics/slis",
                                         .headers = {{"Authorization", "Bearer token-admin"}}})
                .body,
            "metrics reset\n");
}

TEST_F(Pages, HOST_46_ConfigzIsTheEffectiveConfiguration) {
  Start({"--leader-elect-lease-duration=15s"});
  const test::Reply r = Admin("/configz");
  EXPECT_EQ(r.status, 200);
  EXPECT_EQ(r.headers.at("content-type"), "application/json");
  const Json root = Json::parse(r.body)["kubecontrollermanager.config.k8s.io"];
  EXPECT_EQ(root["kind"], "KubeControllerManagerConfiguration");
  EXPECT_EQ(root["Generic"]["LeaderElection"]["leaseDuration"], "15s");
}

TEST_F(Pages, FlagzByAcceptHeader) {
  Start({"--leader-elect=false"});
  test::Reply r = Admin("/flagz");
  EXPECT_EQ(r.status, 200);
  EXPECT_THAT(
      r.body,
      StartsWith(
          "\nkube-controller-manager flagz\nWarning: This endpoint is not meant to be machine "
          "parseable, "
          "has no formatting compatibility guarantees and is for debugging purposes only.\n"));
  EXPECT_THAT(r.body, HasSubstr("\nleader-elect=false\n"));
  r = Admin("/flagz", {{"Accept", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"}});
  const Json object = Json::parse(r.body);
  EXPECT_EQ(object["kind"], "Flagz");
  EXPECT_EQ(object["apiVersion"], "config.k8s.io/v1beta1");
  EXPECT_EQ(object["metadata"]["name"], "kube-controller-manager");
  EXPECT_EQ(object["flags"]["leader-elect"], "false");
  EXPECT_EQ(r.headers.count("warning"), 0u);
  r = Admin("/flagz", {{"Accept", "application/yaml;v=v1alpha1;g=config.k8s.io;as=Flagz"}});
  EXPECT_THAT(r.body, HasSubstr("  \"leader-elect\": \"false\"\n"));
  EXPECT_EQ(
      r.headers.at("warning"),
      "299 - \"This version of the flagz endpoint is deprecated. Please use a newer version.\"");
  EXPECT_EQ(Admin("/flagz", {{"Accept", "application/json"}}).status, 406);
}

TEST_F(Pages, StatuszListsPaths) {
  Start();
  server_->Handle("/debug/controllers/x", {}, [](const Request&) { return Response{}; });
  clock_.Advance(std::chrono::seconds(90));
  const test::Reply r =
      Admin("/statusz", {{"Accept", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"}});
  const Json object = Json::parse(r.body);
  EXPECT_EQ(object["paths"], (Json{"/configz", "/flagz", "/healthz", "/metrics"}));
  EXPECT_EQ(object["binaryVersion"], "1.36.2");
  EXPECT_EQ(object["emulationVersion"], "1.36");
  EXPECT_EQ(object["uptimeSeconds"], 90);
  EXPECT_EQ(object["startTime"], "2030-01-01T00:00:00Z");
}

TEST(Negotiate, FirstAcceptableEntryWins) {
  const struct {
    const char* accept;
    Format want;
  } rows[] = {
      {"", Format::kText},
      {"*/*", Format::kText},
      {"application/xml", Format::kNone},
      {"application/json", Format::kNone},
      {"application/json;as=Statusz;v=v1beta1;g=config.k8s.io", Format::kNone},
      {"application/json;as=Flagz;v=v2;g=config.k8s.io", Format::kNone},
      {"application/json, text/plain", Format::kText},
      {"application/yaml;as=Flagz;v=v1beta1;g=config.k8s.io, text/plain", Format::kYaml},
      {"text/plain;q=0.1, application/json;as=Flagz;v=v1beta1;g=config.k8s.io", Format::kText}};
  for (const auto& row : rows)
    EXPECT_EQ(Negotiate(row.accept, "Flagz").format, row.want) << row.accept;
}

TEST_F(Pages, HOST_47_VerbosityChangesAtRunTime) {
  ServerOptions options = Options({});
  const log::Logger log = options.log;
  StartWith(std::move(options));
  const std::vector<std::pair<std::string, std::string>> admin = {
      {"Authorization", "Bearer token-admin"}};
  log.Info(4, "Before");
  test::Reply r =
      test::Send(server_->port(),
                 {.method = "PUT", .target = "/debug/flags/v", .headers = admin, .body = "4"});
  EXPECT_EQ(r.status, 200);
  EXPECT_EQ(r.body, "successfully set klog.logging.verbosity to 4\n");
  log.Info(4, "After");
  EXPECT_THAT(LogLines(), testing::Contains(HasSubstr("After")));
  EXPECT_THAT(LogLines(), testing::Not(testing::Contains(HasSubstr("Before"))));
  r = test::Send(server_->port(),
                 {.method = "PUT", .target = "/debug/flags/v", .headers = admin, .body = "x"});
  EXPECT_EQ(r.status, 400);
  r = Admin("/debug/flags/v");
  EXPECT_EQ(r.status, 406);
  EXPECT_EQ(r.body, "unsupported http method\n");
  EXPECT_EQ(test::Send(server_->port(), {.method = "PUT", .target = "/debug/flags/v", .body = "9"})
                .status,
            403);
  EXPECT_EQ(log.verbosity(), 4);
  server_.reset();
  Start({"--profiling=false"});
  r = test::Send(server_->port(),
                 {.method = "PUT", .target = "/debug/flags/v", .headers = admin, .body = "4"});
  EXPECT_EQ(r.status, 404);
}

TEST_F(Pages, FurtherPathsAreServedBelowTheirPrefix) {
  Start();
  server_->Handle("/plugins", {.prefix = true}, [](const Request& r) {
    return JsonResponse(201, r.method + " " + r.path + " " + r.user.name + " " + r.body);
  });
  server_->Handle("/plugins/pod", {},
                  [](const Request&) -> Response { throw std::runtime_error("broken"); });
  const std::vector<std::pair<std::string, std::string>> admin = {
      {"Authorization", "Bearer token-eve"}};
  const test::Reply r = test::Send(server_->port(), {.method = "POST",
                                                     .target = "/plugins/volume/swap?x=1",
                                                     .headers = admin,
                                                     .body = "{\"a\":1}"});
  EXPECT_EQ(r.status, 201);
  EXPECT_EQ(r.body, "POST /plugins/volume/swap eve {\"a\":1}");
  EXPECT_EQ(reviews_.access_requests.at(0)["spec"]["nonResourceAttributes"],
            (Json{{"path", "/plugins/volume/swap"}, {"verb", "post"}}));
  EXPECT_EQ(Admin("/plugins/pod").status, 500);
  EXPECT_EQ(Admin("/pluginsx").status, 404);
  EXPECT_EQ(Get("/plugins").status, 403);
  server_->Remove("/plugins");
  EXPECT_EQ(Admin("/plugins/volume").status, 404);
}

TEST_F(Pages, BadRequestsEndInAnErrorNotInACrash) {
  Start();
  EXPECT_EQ(test::SendRaw(server_->port(), "\x01\x02 nonsense\r\n\r\n").find("HTTP/1.1 200"),
            std::string::npos);
  EXPECT_THAT(test::SendRaw(server_->port(),
                            "GET noslash HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(test::SendRaw(server_->port(),
                            "GET /health%00z HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  const test::Reply large =
      test::Send(server_->port(), {.method = "PUT",
                                   .target = "/debug/flags/v",
                                   .headers = {{"Authorization", "Bearer token-admin"}},
                                   .body = std::string((1 << 20) + 1, 'x')});
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_THAT(
      test::SendKeepAlive(server_->port(), {"/healthz", "/metrics", "/livez", "/healthz?verbose"}),
      ElementsAre(200, 403, 404, 200));
  EXPECT_EQ(test::Send(server_->port(), {.method = "HEAD", .target = "/healthz"}).status, 200);
}

// spec/host.md 9.1.
TEST_F(Pages, MethodsAreNotChecked) {
  Start();
  for (const std::string method : {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    SCOPED_TRACE(method);
    for (const std::string target : {"/healthz", "/metrics", "/configz"}) {
      const test::Reply r =
          test::Send(server_->port(), {.method = method,
                                       .target = target,
                                       .headers = {{"Authorization", "Bearer token-admin"}}});
      EXPECT_EQ(r.status, 200) << target;
      EXPECT_NE(r.body, "") << target;
    }
    EXPECT_EQ(test::Send(server_->port(), {.method = method, .target = "/livez"}).status, 404);
    EXPECT_EQ(test::Send(server_->port(), {.method = method, .target = "/readyz"}).status, 404);
  }
}

TEST_F(Pages, StopEndsConnectionsAndWaitsForHandlers) {
  Start();
  const int port = server_->port();
  server_->Stop();
  server_->Stop();
  EXPECT_FALSE(test::Send(port, {.target = "/healthz"}).connected);
}

}  // namespace
}  // namespace kcm::host::http
