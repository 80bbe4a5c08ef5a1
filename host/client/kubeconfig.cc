// SPDX-License-Identifier: Apache-2.0
// Loads kubeconfigs: which configuration is used (2.1), the file format (2.2), in-cluster (2.4).
#include "host/client/kubeconfig.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>

#include <cstdlib>
#include <set>

#include "host/client/kubeconfig_yaml.h"
#include "host/file/regular_file.h"

namespace kcm::host::client {
namespace {

constexpr size_t kMaxFile = 16 << 20;
constexpr std::string_view kNothingProvided =
    "no configuration has been provided, try setting KUBERNETES_MASTER environment variable";

std::optional<std::string> ProcessEnv(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string Env(const LoadOptions& options, const std::string& name) {
  const std::optional<std::string> value = options.env ? options.env(name) : ProcessEnv(name);
  return value.value_or("");
}

void Warn(const LoadOptions& options, const std::string& line) {
  if (options.warn) options.warn(line);
}

Error ConfigError(std::string message) { return MakeError(Code::kInvalid, std::move(message)); }

// Problems of one configuration; joined as 2.2 shows.
class Problems {
 public:
  void Add(std::string text) { texts_.push_back(std::move(text)); }
  bool empty() const { return texts_.empty(); }
  Error ToError() const {
    std::string text = texts_.size() == 1 ? texts_[0] : "[";
    for (size_t i = 0; texts_.size() > 1 && i < texts_.size(); ++i)
      text += (i == 0 ? "" : ", ") + texts_[i];
    if (texts_.size() > 1) text += "]";
    return ConfigError("invalid configuration: " + text);
  }

 private:
  std::vector<std::string> texts_;
};

// Why `path` can not be read, "" when it can.
std::string WhyUnreadable(const std::string& path) {
  const Status readable = file::CheckRegularFile(path);
  return readable.ok() ? "" : readable.error().message;
}

std::string Resolve(const std::string& path, const std::string& directory) {
  if (path.empty() || path.front() == '/' || directory.empty()) return path;
  return directory + "/" + path;
}

// The entry of a named list: nullopt when absent; an error for duplicates or wrong forms.
Result<std::optional<YAML::Node>> FindNamed(const YAML::Node& list, const char* list_name,
                                            const char* member, const std::string& name) {
  std::set<std::string> seen;
  std::optional<YAML::Node> found;
  for (const YAML::Node& item : list) {
    YamlReader reader(item, list_name);
    const std::string item_name = reader.String("name");
    const YAML::Node value = reader.Map(member);
    if (!reader.error().empty()) return ConfigError(reader.error());
    if (!seen.insert(item_name).second)
      return ConfigError("duplicate name \"" + item_name + "\" in list");
    if (item_name == name) found = value;
  }
  return found;
}

std::optional<std::string> ExecExtension(const YAML::Node& extensions) {
  for (const YAML::Node& item : extensions) {
    if (!item.IsMap()) continue;
    const YAML::Node& entry = item;
    if (entry["name"].IsDefined() && entry["name"].IsScalar() &&
        entry["name"].Scalar() == "client.authentication.k8s.io/exec" &&
        entry["extension"].IsDefined()) {
      return YamlToJson(entry["extension"]);
    }
  }
  return std::nullopt;
}

struct Names {
  std::string context, cluster, user;
};

std::string ReadCluster(const YAML::Node& node, const std::string& directory, Config* out,
                        std::string* extension) {
  YamlReader r(node, "cluster");
  out->server = r.String("server");
  out->ca.file = Resolve(r.String("certificate-authority"), directory);
  out->ca.data = r.Bytes("certificate-authority-data");
  out->insecure_skip_tls_verify = r.Bool("insecure-skip-tls-verify");
  out->tls_server_name = r.String("tls-server-name");
  out->proxy_url = r.String("proxy-url");
  *extension = ExecExtension(r.List("extensions")).value_or("");
  return r.error();
}

std::string ReadExec(const YAML::Node& node, const std::string& directory, Config* out) {
  YamlReader r(node, "exec");
  ExecConfig exec;
  exec.command = r.String("command");
  if (exec.command.find('/') != std::string::npos) exec.command = Resolve(exec.command, directory);
  exec.api_version = r.String("apiVersion");
  exec.interactive_mode = r.String("interactiveMode");
  exec.install_hint = r.String("installHint");
  exec.provide_cluster_info = r.Bool("provideClusterInfo");
  for (const YAML::Node& arg : r.List("args"))
    exec.args.push_back(arg.IsScalar() ? arg.Scalar() : "");
  for (const YAML::Node& item : r.List("env")) {
    YamlReader e(item, "exec.env");
    std::string name = e.String("name");
    exec.env.emplace_back(std::move(name), e.String("value"));
    if (!e.error().empty()) return e.error();
  }
  out->exec = std::move(exec);
  return r.error();
}

std::string ReadUser(const YAML::Node& node, const std::string& directory, Config* out) {
  YamlReader r(node, "user");
  out->token = r.String("token");
  out->token_file = Resolve(r.String("tokenFile"), directory);
  out->client_cert.file = Resolve(r.String("client-certificate"), directory);
  out->client_cert.data = r.Bytes("client-certificate-data");
  out->client_key.file = Resolve(r.String("client-key"), directory);
  out->client_key.data = r.Bytes("client-key-data");
  out->username = r.String("username");
  out->password = r.String("password");
  out->impersonate_user = r.String("as");
  out->impersonate_uid = r.String("as-uid");
  for (const YAML::Node& group : r.List("as-groups")) {
    out->impersonate_groups.push_back(group.IsScalar() ? group.Scalar() : "");
  }
  for (const auto& entry : r.Map("as-user-extra")) {
    std::vector<std::string> values;
    for (const YAML::Node& value : entry.second)
      values.push_back(value.IsScalar() ? value.Scalar() : "");
    out->impersonate_extra.emplace_back(entry.first.Scalar(), std::move(values));
  }
  if (const YAML::Node provider = r.Map("auth-provider"); provider.size() > 0) {
    return "no Auth Provider found for name \"" +
           YamlReader(provider, "auth-provider").String("name") +
           "\": legacy auth providers are not supported, use exec";
  }
  if (const YAML::Node exec = r.Map("exec"); exec.size() > 0) {
    const std::string error = ReadExec(exec, directory, out);
    if (!error.empty()) return error;
  }
  return r.error();
}

// A URL of a proxy as messages show it. The user info ends at the last '@', however the rest of it
// was meant: without a scheme, or with a password that is not escaped.
std::string WithoutUserInfo(const std::string& url) {
  const size_t at = url.rfind('@');
  if (at == std::string::npos) return url;
  const size_t scheme = url.find("://");
  return (scheme < at ? url.substr(0, scheme + 3) : "") + url.substr(at + 1);
}

void CheckProxy(const std::string& url, const std::string& cluster, Problems* problems) {
  if (url.empty()) return;
  const std::string shown = WithoutUserInfo(url);
  const std::string start =
      "invalid 'proxy-url' \"" + shown + "\" for cluster \"" + cluster + "\": ";
  try {
    const std::string scheme = Poco::URI(url).getScheme();
    if (scheme == "http" || scheme == "https" || scheme == "socks5") return;
    const bool is_one = shown.find("://") != std::string::npos;  // not the user of "user:word@host"
    problems->Add(start + "unsupported scheme \"" + (is_one ? scheme : "") +
                  "\", must be http, https, or socks5");
  } catch (const Poco::Exception&) {
    // Its text quotes parts of the URL.
    problems->Add(start + "not a URL such as http://proxy:3128");
  }
}

void CheckCluster(const Config& config, const Names& names, Problems* problems) {
  if (config.server.empty()) {
    problems->Add(names.cluster.empty() ? "cluster has no server defined"
                                        : "no server found for cluster \"" + names.cluster + "\"");
  }
  CheckProxy(config.proxy_url, names.cluster, problems);
  if (!config.ca.file.empty() && !config.ca.data.empty()) {
    problems->Add("certificate-authority-data and certificate-authority are both specified for " +
                  names.cluster + ". certificate-authority-data will override.");
  }
  if (const std::string why = config.ca.file.empty() ? "" : WhyUnreadable(config.ca.file);
      !why.empty()) {
    problems->Add("unable to read certificate-authority " + config.ca.file + " for " +
                  names.cluster + " due to " + why);
  }
}

void CheckPair(const Config& config, const std::string& user, Problems* problems) {
  if (config.client_cert.empty()) return;
  if (!config.client_cert.file.empty() && !config.client_cert.data.empty()) {
    problems->Add("client-cert-data and client-cert are both specified for " + user +
                  ". client-cert-data will override.");
  }
  if (!config.client_key.file.empty() && !config.client_key.data.empty()) {
    problems->Add("client-key-data and client-key are both specified for " + user +
                  "; client-key-data will override");
  }
  if (config.client_key.empty()) {
    problems->Add("client-key-data or client-key must be specified for " + user +
                  " to use the clientCert authentication method.");
  }
  for (const auto& [what, file] : {std::pair("client-cert", &config.client_cert.file),
                                   std::pair("client-key", &config.client_key.file)}) {
    if (const std::string why = file->empty() ? "" : WhyUnreadable(*file); !why.empty()) {
      problems->Add(std::string("unable to read ") + what + " " + *file + " for " + user +
                    " due to " + why);
    }
  }
}

void CheckExec(const ExecConfig& exec, const std::string& user, Problems* problems) {
  const std::string tail = " for " + user + " to use exec authentication plugin";
  if (exec.command.empty()) problems->Add("command must be specified" + tail);
  if (exec.api_version.empty()) problems->Add("apiVersion must be specified" + tail);
  for (const auto& [name, value] : exec.env) {
    if (name.empty()) problems->Add("env variable name must be specified" + tail);
  }
  if (exec.interactive_mode.empty()) {
    if (exec.api_version == "client.authentication.k8s.io/v1")
      problems->Add("interactiveMode must be specified" + tail);
  } else if (exec.interactive_mode != "Never" && exec.interactive_mode != "IfAvailable" &&
             exec.interactive_mode != "Always") {
    problems->Add("invalid interactiveMode for " + user + ": \"" + exec.interactive_mode + "\"");
  }
}

// One that is not there yet may come; one that is no file never holds a token.
void CheckTokenFile(const Config& config, const std::string& user, Problems* problems) {
  if (config.token_file.empty()) return;
  const Status readable = file::CheckRegularFile(config.token_file);
  if (readable.code() != Code::kInvalid) return;
  problems->Add("unable to read tokenFile " + config.token_file + " for " + user + " due to " +
                readable.error().message);
}

void CheckUser(const Config& config, const std::string& user, Problems* problems) {
  CheckPair(config, user, problems);
  CheckTokenFile(config, user, problems);
  if (config.exec) CheckExec(*config.exec, user, problems);
  const bool token = !config.token.empty() || !config.token_file.empty();
  const bool basic = !config.username.empty() || !config.password.empty();
  if (token && basic) {
    problems->Add("more than one authentication method found for " + user +
                  "; found [token basicAuth], only one is allowed");
  }
  if (config.impersonate_user.empty() &&
      (!config.impersonate_uid.empty() || !config.impersonate_groups.empty() ||
       !config.impersonate_extra.empty())) {
    problems->Add("requesting uid, groups or user-extra for " + user +
                  " without impersonating a user");
  }
}

// What a file gives before validation.
struct Parsed {
  Config config;
  Names names;
  bool context_found = true;
  bool empty = false;  // no clusters at all
};

Result<Parsed> ReadDocument(const YAML::Node& root, const std::string& directory) {
  Parsed out;
  YamlReader r(root, "kubeconfig");
  const YAML::Node clusters = r.List("clusters"), users = r.List("users"),
                   contexts = r.List("contexts");
  out.names.context = r.String("current-context");
  if (!r.error().empty()) return ConfigError(r.error());
  out.empty = clusters.size() == 0;

  const Result<std::optional<YAML::Node>> context =
      FindNamed(contexts, "contexts", "context", out.names.context);
  if (!context.ok()) return context.error();
  out.context_found = context->has_value();
  if (out.context_found) {
    YamlReader c(**context, "context");
    out.names.cluster = c.String("cluster");
    out.names.user = c.String("user");
    if (!c.error().empty()) return ConfigError(c.error());
  }
  const Result<std::optional<YAML::Node>> cluster =
      FindNamed(clusters, "clusters", "cluster", out.names.cluster);
  if (!cluster.ok()) return cluster.error();
  const Result<std::optional<YAML::Node>> user = FindNamed(users, "users", "user", out.names.user);
  if (!user.ok()) return user.error();
  std::string extension;
  if (cluster->has_value()) {
    const std::string error = ReadCluster(**cluster, directory, &out.config, &extension);
    if (!error.empty()) return ConfigError(error);
  }
  if (user->has_value()) {
    const std::string error = ReadUser(**user, directory, &out.config);
    if (!error.empty()) return ConfigError(error);
  }
  if (out.config.exec) out.config.exec->cluster_extension = std::move(extension);
  out.config.user = out.names.user;
  return out;
}

Result<Parsed> Read(std::string_view text, const std::string& directory) {
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (root.IsDefined() && !root.IsNull() && !root.IsMap())
      return ConfigError("not a kubeconfig: must be a mapping");
    return ReadDocument(root, directory);
  } catch (const YAML::Exception& e) {
    return ConfigError(std::string("not valid YAML: ") + e.what());
  }
}

Status Validate(const Parsed& parsed) {
  Problems problems;
  if (!parsed.names.context.empty() && !parsed.context_found) {
    problems.Add("context was not found for specified context: " + parsed.names.context);
  }
  CheckUser(parsed.config, parsed.names.user, &problems);
  CheckCluster(parsed.config, parsed.names, &problems);
  if (problems.empty() && parsed.config.insecure_skip_tls_verify && !parsed.config.ca.empty()) {
    return ConfigError("specifying a root certificates file with the insecure flag is not allowed");
  }
  return problems.empty() ? Ok() : Status(problems.ToError());
}

Result<std::string> ReadFile(const std::string& path) {
  Result<std::string> text = file::ReadRegularFile(path, kMaxFile);
  // The reference looks before it opens (2.1).
  if (!text.ok() && text.code() == Code::kNotFound)
    return ConfigError("stat" + text.error().message.substr(std::string_view("open").size()));
  if (!text.ok()) return ConfigError(text.error().message);
  return text;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<Config> LoadFile(const LoadOptions& options) {
  const Result<std::string> text = ReadFile(options.kubeconfig);
  if (!text.ok()) return text.error();
  Result<Parsed> parsed = Read(*text, DirectoryOf(options.kubeconfig));
  if (!parsed.ok())
    return ConfigError(
        "error loading config file \"" + options.kubeconfig + "\": " + parsed.error().message +
        ": a kubeconfig is YAML or JSON of kind Config, with clusters, users, contexts and "
        "current-context");
  if (parsed->empty && parsed->names.context.empty() && options.master.empty()) {
    Result<Config> in_cluster = InClusterConfig(options);
    if (in_cluster.ok()) return in_cluster;
    return ConfigError("invalid configuration: " + std::string(kNothingProvided) + ": " +
                       options.kubeconfig + " has no clusters: correct " + options.kubeconfig);
  }
  if (!options.master.empty()) {
    parsed->config.server = options.master;
    parsed->config.tls_server_name.clear();
  }
  const Status valid = Validate(*parsed);
  if (!valid.ok()) return ConfigError(valid.error().message + ": correct " + options.kubeconfig);
  parsed->config.kubeconfig = options.kubeconfig;
  return std::move(parsed->config);
}

}  // namespace

std::string ServerAddress::HostPort() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<ServerAddress> ParseServer(std::string_view server) {
  // Without a scheme it is plain http, and a path has no meaning there (2.2).
  const bool scheme = server.find("://") != std::string_view::npos;
  try {
    const Poco::URI uri(scheme ? std::string(server) : "http://" + std::string(server));
    ServerAddress out;
    if (uri.getScheme() != "http" && uri.getScheme() != "https") {
      return ConfigError("server \"" + std::string(server) + "\": scheme must be http or https");
    }
    out.tls = uri.getScheme() == "https";
    out.host = uri.getHost();
    if (out.host.size() > 2 && out.host.front() == '[')
      out.host = out.host.substr(1, out.host.size() - 2);
    out.port = uri.getPort();
    if (scheme) out.path = uri.getPathEtc().substr(0, uri.getPathEtc().find_first_of("?#"));
    while (!out.path.empty() && out.path.back() == '/') out.path.pop_back();
    if (out.host.empty() || out.port == 0) {
      return ConfigError("server \"" + std::string(server) +
                         "\": host must be a URL or a host:port pair");
    }
    return out;
  } catch (const Poco::Exception& e) {
    return ConfigError("server \"" + std::string(server) + "\": " + e.displayText());
  }
}

Result<Config> ParseKubeconfig(std::string_view text, const std::string& directory) {
  Result<Parsed> parsed = Read(text, directory);
  if (!parsed.ok()) return parsed.error();
  const Status valid = Validate(*parsed);
  if (!valid.ok()) return valid.error();
  return std::move(parsed->config);
}

Result<Config> InClusterConfig(const LoadOptions& options) {
  const std::string host = Env(options, "KUBERNETES_SERVICE_HOST");
  const std::string port = Env(options, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return ConfigError(
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
        "KUBERNETES_SERVICE_PORT must be defined");
  }
  Config config;
  config.server =
      "https://" + (host.find(':') != std::string::npos ? "[" + host + "]" : host) + ":" + port;
  config.token_file = options.service_account_dir + "/token";
  if (const std::string why = WhyUnreadable(config.token_file); !why.empty())
    return ConfigError(why);
  const std::string ca = options.service_account_dir + "/ca.crt";
  if (const std::string why = WhyUnreadable(ca); why.empty()) {
    config.ca.file = ca;
  } else {
    Warn(options, "Expected to load root CA config from " + ca + ", but got err: " + why);
  }
  return config;
}

Result<Config> LoadConfig(const LoadOptions& options) {
  if (!options.kubeconfig.empty()) return LoadFile(options);
  if (!options.master.empty()) {
    Config config;
    config.server = options.master;
    return config;
  }
  Warn(options,
       "Neither --kubeconfig nor --master was specified.  Using the inClusterConfig.  This might "
       "not work.");
  Result<Config> in_cluster = InClusterConfig(options);
  if (in_cluster.ok()) return in_cluster;
  Warn(options, "error creating inClusterConfig, falling back to default config: " +
                    in_cluster.error().message);
  return ConfigError("invalid configuration: " + std::string(kNothingProvided));
}

}  // namespace kcm::host::client
