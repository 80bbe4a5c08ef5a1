// SPDX-License-Identifier: Apache-2.0
// A server on a free port with scripted reviews, on the virtual clock.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/temporary_dir.h"
#include "host/config/configz.h"
#include "host/http/server.h"
#include "host/http/tls_client.h"

namespace kcm::host::http {

// Stands for the API server at the edge of this library.
class ScriptedReviews : public ReviewClient {
 public:
  using Answer = std::function<Result<std::string>(const nlohmann::json& request)>;

  Result<std::string> CreateTokenReview(const std::string& json) override {
    return Ask(token, json, &token_requests);
  }
  Result<std::string> CreateSubjectAccessReview(const std::string& json) override {
    return Ask(access, json, &access_requests);
  }
  Result<std::string> GetAuthenticationConfigMap() override {
    const std::lock_guard lock(mutex);
    return config_map;
  }

  // Accepts tokens "token-NAME" for user NAME; everything else is not authenticated.
  Answer token = [](const nlohmann::json& request) -> Result<std::string> {
    const std::string text = request["spec"]["token"];
    if (!text.starts_with("token-")) return std::string(R"({"status":{"authenticated":false}})");
    const nlohmann::json user = {{"username", text.substr(6)}, {"groups", {"system:monitoring"}}};
    return nlohmann::json({{"status", {{"authenticated", true}, {"user", user}}}}).dump();
  };
  // Lets group system:monitoring do everything.
  Answer access = [](const nlohmann::json& request) -> Result<std::string> {
    const nlohmann::json groups = request["spec"].value("groups", nlohmann::json::array());
    const bool allowed =
        std::find(groups.begin(), groups.end(), "system:monitoring") != groups.end();
    return nlohmann::json({{"status", {{"allowed", allowed}}}}).dump();
  };
  Result<std::string> config_map = Result<std::string>(MakeError(Code::kNotFound, "not found"));
  std::mutex mutex;
  std::vector<nlohmann::json> token_requests, access_requests;

 private:
  Result<std::string> Ask(const Answer& answer, const std::string& json,
                          std::vector<nlohmann::json>* log) {
    const std::lock_guard lock(mutex);
    log->push_back(nlohmann::json::parse(json));
    return answer(log->back());
  }
};

class ServerTest : public testing::Test {
 protected:
  void TearDown() override { server_.reset(); }

  std::string Write(const std::string& name, const std::string& text) {
    return dir_.Write(name, text);
  }

  // Options of a host started with `args`, with delegation to reviews_ and a ready serving pair
  // (making one is slow).
  ServerOptions Options(std::vector<std::string> args) {
    const test::TestCa ca("serving-ca");
    const test::CertAndKey pair = ca.Server("localhost");
    args.push_back("--tls-cert-file=" + Write("serving.crt", pair.cert));
    args.push_back("--tls-private-key-file=" + Write("serving.key", pair.key));
    return PlainOptions(args);
  }
  // The same with exactly `args`.
  ServerOptions PlainOptions(const std::vector<std::string>& args) {
    parsed_ = std::make_shared<config::ParseResult>(config::ParseOptions(args, {}));
    EXPECT_EQ(parsed_->failure, "");
    const config::Options& o = parsed_->options;
    ServerOptions s;
    s.serving = o.serving;
    s.serving.port = 0;
    s.authentication = o.authentication;
    s.authorization = o.authorization;
    s.authentication_client = &reviews_;
    s.authorization_client = &reviews_;
    s.clock = &clock_;
    s.metrics = &metrics_;
    log::Options log_options;
    log_options.sink = [this](const std::string& line) {
      const std::lock_guard lock(log_mutex_);
      lines_.push_back(line);
    };
    s.log = log::Logger::Make(log_options);
    s.configz = [parsed = parsed_] { return config::ConfigzJson(parsed->options, nullptr); };
    s.flags = config::FlagValues(o.flags);
    s.profiling = o.profiling;
    s.build = o.build;
    s.emulation = o.emulation;
    return s;
  }
  void StartWith(ServerOptions options) {
    Result<std::unique_ptr<Server>> server = Server::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }
  void Start(const std::vector<std::string>& args = {}) { StartWith(Options(args)); }

  test::Reply Get(const std::string& target) {
    return test::Send(server_->port(), {.target = target});
  }
  test::Reply GetAs(const std::string& token, const std::string& target) {
    return test::Send(server_->port(),
                      {.target = target, .headers = {{"Authorization", "Bearer " + token}}});
  }
  test::Reply GetWith(const test::CertAndKey& client, const std::string& target) {
    return test::Send(server_->port(), {.target = target, .client = client});
  }
  std::vector<std::string> LogLines() {
    const std::lock_guard lock(log_mutex_);
    return lines_;
  }

  harness::TemporaryDir dir_;
  clock::VirtualClock clock_;
  metric::Registry metrics_;
  ScriptedReviews reviews_;
  std::shared_ptr<config::ParseResult> parsed_;
  std::mutex log_mutex_;
  std::vector<std::string> lines_;
  std::unique_ptr<Server> server_;
};

}  // namespace kcm::host::http
