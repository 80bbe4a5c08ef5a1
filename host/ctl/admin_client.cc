// SPDX-License-Identifier: Apache-2.0
// Requests to the admin API.
#include "host/ctl/admin_client.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/client/refusal.h"
#include "host/client/transport.h"
#include "host/file/regular_file.h"

namespace kcm::host::ctl {
namespace {

// A generated certificate file holds the leaf and its CA (spec/host.md 9.7), so it is its own trust
// anchor.
constexpr char kGeneratedCertificate[] = "kube-controller-manager.crt";
constexpr size_t kMaxKubeconfig = 16 << 20;

Result<client::Config> ReadKubeconfig(const std::string& path) {
  const Result<std::string> text = file::ReadRegularFile(path, kMaxKubeconfig);
  if (!text.ok()) return MakeError(Code::kInvalid, "--kubeconfig: " + text.error().message);
  Result<client::Config> config =
      client::ParseKubeconfig(*text, std::filesystem::path(path).parent_path().string());
  if (!config.ok())
    return MakeError(Code::kInvalid, "--kubeconfig " + path + ": " + config.error().message);
  config->kubeconfig = path;
  return config;
}

// One segment of a path; a name that needs escapes is no plugin's.
bool IsPluginName(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
             std::string::npos;
}

}  // namespace

client::Config ConfigOf(const Access& access, const client::Config& kubeconfig) {
  client::Config config = kubeconfig;
  config.server = access.server;
  config.insecure_skip_tls_verify = false;
  config.proxy_url.clear();
  config.tls_server_name = access.tls_server_name;
  if (!access.ca.empty()) {
    config.ca = {.data = "", .file = access.ca};
  } else if (!access.cert_dir.empty()) {
    config.ca = {.data = "", .file = access.cert_dir + "/" + kGeneratedCertificate};
  }
  // What the command line says about the user replaces the kubeconfig's user: a mixture would be
  // somebody else.
  if (!access.token_file.empty() || !access.client_cert.empty()) {
    const client::Config anonymous;
    config.token = anonymous.token;
    config.username = anonymous.username;
    config.password = anonymous.password;
    config.exec = anonymous.exec;
    config.kubeconfig = anonymous.kubeconfig;
    config.user = anonymous.user;
    config.token_file = access.token_file;
    config.client_cert = {.data = "", .file = access.client_cert};
    config.client_key = {.data = "", .file = access.client_key};
  }
  return config;
}

std::string Explain(const Access& access, const Error& error) {
  const std::string what = access.server + ": " + error.message;
  if (error.code == Code::kTransport && error.cause == "ConnectionRefused")
    return what + ": nothing listens there: is kcm-host running, and with this --secure-port?";
  if (client::IsCertificateAlert(error.message)) return what;  // says its own fix
  if (error.code == Code::kTransport && error.cause == "TLS")
    return what +
           ": the host's certificate is not trusted: give its CA with --ca, or its --cert-dir with "
           "--cert-dir";
  if (error.code == Code::kTimeout)
    return what + ": no answer within --timeout; the host may still complete the request";
  if (error.code == Code::kUnauthorized)
    return what +
           ": the host does not know these credentials: see --kubeconfig, --token-file, "
           "--client-cert";
  // The host refuses users in these words; what else is forbidden (a file of others) says its own
  // fix.
  if (error.code == Code::kForbidden &&
      error.message.find("cannot get path") == std::string::npos &&
      error.message.find("cannot post path") == std::string::npos)
    return what;
  if (error.code == Code::kForbidden &&
      error.message.find("\"system:anonymous\"") != std::string::npos)
    return what +
           ": the host does not recognise you: give credentials (--kubeconfig, --token-file, "
           "--client-cert); a certificate must be of the CA of the host's --client-ca-file or of "
           "its cluster's ConfigMap kube-system/extension-apiserver-authentication";
  if (error.code == Code::kForbidden)
    return what +
           ": this user may not: it needs get and post on the non-resource URLs /plugins and "
           "/plugins/*";
  return what;
}

Result<AdminClient> AdminClient::Open(const Access& access, clock::Clock* clock) {
  client::Config from_file;
  if (!access.kubeconfig.empty()) {
    Result<client::Config> read = ReadKubeconfig(access.kubeconfig);
    if (!read.ok()) return read.error();
    from_file = *std::move(read);
  }
  client::TransportOptions t;
  t.clock = clock;
  t.env = [](const std::string&) -> std::optional<std::string> {
    return std::nullopt;
  };  // a host is reached directly, never by proxy
  Result<std::shared_ptr<client::Transport>> transport =
      client::MakeTransport(ConfigOf(access, from_file), std::move(t));
  if (!transport.ok()) return MakeError(transport.code(), Explain(access, transport.error()));
  client::ClientOptions o;
  o.transport = *std::move(transport);
  o.user_agent = "kcmctl";
  o.qps = 0;
  o.clock = clock;
  return AdminClient(access, std::make_unique<client::Client>(std::move(o)));
}

Result<std::string> AdminClient::Do(client::Verb verb, const std::string& path,
                                    const std::string& body) {
  client::Call call;
  call.verb = verb;
  call.raw_path = path;
  call.body = body;
  call.form = client::Form::kRaw;
  call.timeout = access_.timeout;
  Result<client::Answer> answer = client_->Do(call);
  if (!answer.ok()) return MakeError(answer.code(), Explain(access_, answer.error()));
  return std::move(answer->raw);
}

Result<std::string> AdminClient::Report(int keys) {
  return Do(client::Verb::kGet, keys > 0 ? "/plugins?keys=" + std::to_string(keys) : "/plugins",
            "");
}

Status AdminClient::Swap(const std::string& absolute_file) {
  const std::string body = nlohmann::json{{"file", absolute_file}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Result<std::string> answer = Do(client::Verb::kCreate, "/plugins/swap", body);
  return answer.ok() ? Ok() : Status(answer.error());
}

Status AdminClient::Rollback(const std::string& plugin) {
  if (!IsPluginName(plugin))
    return MakeError(Code::kInvalid,
                     "\"" + plugin + "\" is not a plugin's name: see kcmctl plugins list");
  const Result<std::string> answer =
      Do(client::Verb::kCreate, "/plugins/" + plugin + "/rollback", "");
  return answer.ok() ? Ok() : Status(answer.error());
}

Status AdminClient::Rescan() {
  const Result<std::string> answer = Do(client::Verb::kCreate, "/plugins/rescan", "");
  return answer.ok() ? Ok() : Status(answer.error());
}

}  // namespace kcm::host::ctl
