// SPDX-License-Identifier: Apache-2.0
// kcmctl against the host's real HTTPS server; only the plugins behind it are scripted.
#include "host/ctl/ctl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/ctl/admin_client.h"
#include "host/http/server_fixture.h"

namespace kcm::host::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string ReportOf(int swaps) {
  return R"({"plugins":[{"name":"pod","file":"/p/kcm-pod.so","version":"1","vendor":"v","buildId":"b)" +
         std::to_string(swaps) + R"(","digest":"00","swaps":)" + std::to_string(swaps) +
         R"(,"state":"running","lastPauseMs":1.5,"controllers":[]}]})";
}

class CtlTest : public http::ServerTest {
 protected:
  void SetUp() override {
    http::ServerTest::SetUp();
    StartWith(PlainOptions({"--cert-dir=" + dir_.path(), "--authentication-kubeconfig=unused"}));
    server_->Handle("/plugins", {.prefix = true},
                    [this](const http::Request& r) { return Answer(r); });
    token_ = Write("token", "token-alice\n");
  }

  http::Response Answer(const http::Request& r) {
    const std::lock_guard lock(requests_mutex_);
    std::string line = r.method + " " + r.path;
    if (r.HasQuery("keys")) line += "?keys=" + r.QueryValues("keys").front();
    if (!r.body.empty()) line += " " + r.body;
    requests_.push_back(line);
    if (r.method == "GET") return http::JsonResponse(200, ReportOf(swaps_));
    if (r.path == "/plugins/foreign/rollback")
      return http::StatusError(403, "Forbidden", "x.so: writable by others: chmod go-w", false);
    if (r.path == "/plugins/node/rollback")
      return http::StatusError(404, "NotFound", "plugin node has no earlier build in memory",
                               false);
    ++swaps_;
    return http::JsonResponse(
        200,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}\n");
  }

  // kcmctl with `args` and the address; what it says is in out_ and err_.
  int Ctl(std::vector<std::string> args, bool trusted = true) {
    out_.clear();
    err_.clear();
    args.push_back("--server=https://127.0.0.1:" + std::to_string(server_->port()));
    if (trusted) args.push_back("--cert-dir=" + dir_.path());
    return ctl::Run(
        args, [this](const std::string& t) { out_ += t; },
        [this](const std::string& t) { err_ += t; });
  }

  std::string token_, out_, err_;
  std::mutex requests_mutex_;
  std::vector<std::string> requests_;  // guarded by requests_mutex_
  int swaps_ = 0;                      // guarded by requests_mutex_
};

TEST_F(CtlTest, ListsWithATokenOverVerifiedTls) {
  ASSERT_EQ(Ctl({"plugins", "list", "--token-file", token_}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("pod     1        b0     running"));
  ASSERT_EQ(Ctl({"plugins", "list", "--token-file", token_, "-o", "json"}), 0) << err_;
  EXPECT_EQ(out_, ReportOf(0));
}

TEST_F(CtlTest, SwapSendsTheAbsolutePathAndShowsThePause) {
  ASSERT_EQ(Ctl({"plugins", "swap", "/builds/../builds/kcm-pod.so", "--token-file", token_}), 0)
      << err_;
  EXPECT_EQ(out_, "pod: build b0 -> b1, paused for 1.5 ms, running\n");
  EXPECT_THAT(requests_,
              ElementsAre("GET /plugins", R"(POST /plugins/swap {"file":"/builds/kcm-pod.so"})",
                          "GET /plugins"));
  ASSERT_EQ(Ctl({"plugins", "swap", "kcm-pod.so", "--token-file", token_}), 0) << err_;
  EXPECT_THAT(requests_[4], HasSubstr((std::filesystem::current_path() / "kcm-pod.so").string()));
}

TEST_F(CtlTest, ARefusalIsTheHostsOwnWords) {
  EXPECT_EQ(Ctl({"plugins", "rollback", "node", "--token-file", token_}), 1);
  EXPECT_THAT(err_, HasSubstr("plugin node has no earlier build in memory"));
  EXPECT_EQ(out_, "");
  EXPECT_EQ(Ctl({"plugins", "rollback", "foreign", "--token-file", token_}), 1);
  EXPECT_THAT(err_, HasSubstr("x.so: writable by others: chmod go-w"));
  EXPECT_THAT(err_, Not(HasSubstr("user may not"))) << "the file was refused, not the user";
  EXPECT_EQ(Ctl({"plugins", "rollback", "../swap", "--token-file", token_}), 1);
  EXPECT_THAT(err_, HasSubstr("is not a plugin's name"));
}

TEST_F(CtlTest, QueuesAskForKeys) {
  ASSERT_EQ(Ctl({"queues", "--keys=7", "--token-file", token_}), 0) << err_;
  EXPECT_THAT(requests_, ElementsAre("GET /plugins?keys=7"));
}

TEST_F(CtlTest, AnUnknownCertificateIsNeverAccepted) {
  EXPECT_EQ(Ctl({"plugins", "list", "--token-file", token_}, false), 1);
  EXPECT_THAT(err_, HasSubstr("give its CA with --ca, or its --cert-dir with --cert-dir"));
  EXPECT_THAT(err_, Not(HasSubstr("token-alice")));
  EXPECT_TRUE(requests_.empty());
}

TEST_F(CtlTest, WithoutCredentialsTheErrorSaysWhatIsNeeded) {
  EXPECT_EQ(Ctl({"plugins", "list"}), 1);
  EXPECT_THAT(err_, HasSubstr("the host does not recognise you: give credentials"));
  EXPECT_EQ(Ctl({"plugins", "list", "--token-file", Write("bad", "unknown")}), 1);
  EXPECT_THAT(err_, HasSubstr("the host does not know these credentials"));
}

TEST_F(CtlTest, NobodyListening) {
  const std::string port = std::to_string(server_->port());
  server_->Stop();
  EXPECT_EQ(ctl::Run(
                {"plugins", "list", "--server=https://127.0.0.1:" + port, "--cert-dir=" + dir_.path()},
                [](const std::string&) {}, [this](const std::string& t) { err_ += t; }),
            1);
  EXPECT_THAT(err_, HasSubstr("is kcm-host running"));
}

TEST_F(CtlTest, InspectNamesWhyAFileIsNoPlugin) {
  EXPECT_EQ(Ctl({"plugins", "inspect", Write("x.so", "not an ELF file")}), 1);
  EXPECT_THAT(err_, HasSubstr("x.so"));
  EXPECT_TRUE(requests_.empty());
}

TEST(CtlConfig, CommandLineCredentialsReplaceTheKubeconfigsUser) {
  client::Config file;
  file.server = "https://apiserver:6443";
  file.ca = {.data = "CA", .file = ""};
  file.insecure_skip_tls_verify = true;
  file.tls_server_name = "apiserver";
  file.token = "secret";
  file.client_cert = {.data = "CERT", .file = ""};
  Access access;
  client::Config config = ConfigOf(access, file);
  EXPECT_EQ(config.server, "https://127.0.0.1:10257");
  EXPECT_EQ(config.ca.data, "CA");
  EXPECT_FALSE(config.insecure_skip_tls_verify) << "certificates are always verified";
  EXPECT_EQ(config.tls_server_name, "") << "the API server's name is not the host's";
  EXPECT_EQ(config.token, "secret");

  access.ca = "/c/ca.crt";
  access.cert_dir = "/unused";
  access.token_file = "/t/token";
  config = ConfigOf(access, file);
  EXPECT_EQ(config.ca.file, "/c/ca.crt");
  EXPECT_EQ(config.ca.data, "");
  EXPECT_EQ(config.token, "");
  EXPECT_EQ(config.token_file, "/t/token");
  EXPECT_TRUE(config.client_cert.empty()) << "a certificate would beat the token";
}

}  // namespace
}  // namespace kcm::host::ctl
