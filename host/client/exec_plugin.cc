// SPDX-License-Identifier: Apache-2.0
// Exec credential plugins.
#include "host/client/exec_plugin.h"

#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "host/client/base64.h"
#include "host/client/json_member.h"
#include "host/client/process.h"
#include "host/file/regular_file.h"
#include "kcm/rules/time.h"

namespace kcm::host::client {
namespace {

using nlohmann::json;

struct ExecAnswer {
  std::string token;
  ExecPair pair;
  std::optional<clock::WallTime> expires;
};

Error CredentialError(std::string message) {
  return MakeError(Code::kUnauthorized, "getting credentials: " + std::move(message));
}

Result<ExecAnswer> ParseAnswer(const std::string& text, const std::string& api_version) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return CredentialError("decoding stdout: not an ExecCredential object");
  if (TextOf(root, "kind") != "ExecCredential")
    return CredentialError("exec plugin returned kind \"" + TextOf(root, "kind") + "\"");
  if (TextOf(root, "apiVersion") != api_version) {
    return CredentialError("exec plugin is configured to use API version " + api_version +
                           ", plugin returned version " + TextOf(root, "apiVersion"));
  }
  const auto status = root.find("status");
  if (status == root.end() || !status->is_object())
    return CredentialError("exec plugin didn't return a status field");
  ExecAnswer out;
  out.token = TextOf(*status, "token");
  out.pair = {TextOf(*status, "clientCertificateData"), TextOf(*status, "clientKeyData")};
  if (out.token.empty() && out.pair.cert_pem.empty() && out.pair.key_pem.empty()) {
    return CredentialError("exec plugin didn't return a token or cert/key pair");
  }
  if (out.pair.cert_pem.empty() != out.pair.key_pem.empty())
    return CredentialError("exec plugin returned only certificate or key, not both");
  if (const std::string expires = TextOf(*status, "expirationTimestamp"); !expires.empty()) {
    out.expires = rules::ParseTime(expires);
    if (!out.expires)
      return CredentialError("exec plugin returned an expirationTimestamp that is not RFC 3339");
  }
  return out;
}

class ExecCredentials : public Credentials {
 public:
  ExecCredentials(const Config& config, CredentialsContext context)
      : config_(config), context_(std::move(context)) {
    if (context_.metrics == nullptr) return;
    calls_ = context_.metrics->Counter(
        {.name = "rest_client_exec_plugin_call_total",
         .help = "Number of calls to an exec plugin, partitioned by the type of event "
                 "encountered (no_error, plugin_execution_error, "
                 "plugin_not_found_error, client_internal_error) and an optional "
                 "exit code.",
         .labels = {"code", "call_status"},
         .buckets = {}});
  }

  Result<std::string> Authorization() override {
    // One at a time: all requests that need the credential wait for one run of the plugin.
    std::lock_guard<std::mutex> lock(mutex_);
    if (!answer_ || (answer_->expires && context_.clock->Now() >= *answer_->expires)) {
      const Status refreshed = Refresh();
      if (!refreshed.ok()) return refreshed.error();
    }
    return answer_->token.empty() ? std::string() : "Bearer " + answer_->token;
  }

  void Rejected(const std::string& authorization) override {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string current =
        answer_ && !answer_->token.empty() ? "Bearer " + answer_->token : "";
    if (answer_ && authorization == current) answer_.reset();
  }

 private:
  Status CheckConfig() const {
    const std::string& version = config_.exec->api_version;
    if (version != "client.authentication.k8s.io/v1" &&
        version != "client.authentication.k8s.io/v1beta1") {
      return CredentialError("exec plugin: invalid apiVersion \"" + version + "\"");
    }
    if (config_.exec->interactive_mode == "Always" && isatty(STDIN_FILENO) == 0) {
      return CredentialError(
          "exec plugin cannot support interactive mode: standard input is not a terminal");
    }
    return Ok();
  }

  std::string ExecInfo() const {
    json info = {{"kind", "ExecCredential"},
                 {"apiVersion", config_.exec->api_version},
                 {"spec", {{"interactive", false}}}};
    if (config_.exec->provide_cluster_info) info["spec"]["cluster"] = Cluster();
    return info.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  json Cluster() const {
    json cluster = {{"server", config_.server}};
    if (!config_.tls_server_name.empty()) cluster["tls-server-name"] = config_.tls_server_name;
    if (config_.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
    std::string ca = config_.ca.data;
    if (ca.empty() && !config_.ca.file.empty()) {
      // Checked at start; one that is gone now is left out.
      if (Result<std::string> read = file::ReadRegularFile(config_.ca.file); read.ok())
        ca = *std::move(read);
    }
    if (!ca.empty()) cluster["certificate-authority-data"] = EncodeBase64(ca);
    if (!config_.proxy_url.empty()) cluster["proxy-url"] = config_.proxy_url;
    if (!config_.exec->cluster_extension.empty())
      cluster["config"] = json::parse(config_.exec->cluster_extension, nullptr, false);
    return cluster;
  }

  void Count(int code, const char* status) const {
    calls_.With({std::to_string(code), status}).Add();
  }

  // REQUIRES: mutex_ held.
  Status Refresh() {
    const Status usable = CheckConfig();
    if (!usable.ok()) return usable;
    std::vector<std::pair<std::string, std::string>> env = config_.exec->env;
    env.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo());
    const Result<ProcessResult> run = RunProcess(config_.exec->command, config_.exec->args, env);
    if (!run.ok()) {
      Count(1, run.code() == Code::kNotFound ? "plugin_not_found_error" : "client_internal_error");
      if (run.code() != Code::kNotFound)
        return CredentialError("exec: executable " + config_.exec->command + ": " +
                               run.error().message);
      return CredentialError(
          "exec: executable " + config_.exec->command + " not found" +
          (config_.exec->install_hint.empty() ? "" : "\n\n" + config_.exec->install_hint));
    }
    if (run->exit_code != 0) {
      Count(run->exit_code, "plugin_execution_error");
      return CredentialError("exec: executable " + config_.exec->command +
                             " failed with exit code " + std::to_string(run->exit_code));
    }
    Count(0, "no_error");
    Result<ExecAnswer> answer = ParseAnswer(run->out, config_.exec->api_version);
    if (!answer.ok()) return answer.error();
    if (!(answer->pair == pair_) && context_.use_pair) {
      const Status used = context_.use_pair(answer->pair);
      if (!used.ok()) return CredentialError("exec plugin's certificate: " + used.error().message);
      pair_ = answer->pair;
    }
    answer_ = std::move(*answer);
    return Ok();
  }

  const Config config_;
  const CredentialsContext context_;
  metric::Metric calls_;
  std::mutex mutex_;
  std::optional<ExecAnswer> answer_;  // guarded by mutex_
  ExecPair pair_;                     // guarded by mutex_
};

}  // namespace

std::unique_ptr<Credentials> MakeExecCredentials(const Config& config, CredentialsContext context) {
  return std::make_unique<ExecCredentials>(config, std::move(context));
}

}  // namespace kcm::host::client
