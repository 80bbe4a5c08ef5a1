// SPDX-License-Identifier: Apache-2.0
// Reads kubeconfig files into an Endpoint.
#include "devcluster/nodes/endpoint.h"

#include <Poco/Base64Decoder.h>
#include <Poco/Exception.h>
#include <Poco/URI.h>
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace kcm::devcluster::nodes {
namespace {

Error Broken(const std::string& what) { return MakeError(Code::kInvalid, "kubeconfig: " + what); }

std::string Text(const YAML::Node& map, const char* name) {
  const YAML::Node n = map[name];
  return n && n.IsScalar() ? n.as<std::string>() : std::string();
}

// The entry of list `list` called `name`, its member `member`.
YAML::Node Named(const YAML::Node& root, const char* list, const std::string& name,
                 const char* member) {
  const YAML::Node entries = root[list];
  if (!entries || !entries.IsSequence()) return YAML::Node(YAML::NodeType::Undefined);
  for (const auto& entry : entries) {
    if (entry.IsMap() && Text(entry, "name") == name) return entry[member];
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

Result<std::string> Decode(const std::string& base64, const std::string& what) {
  try {
    std::istringstream in(base64);
    Poco::Base64Decoder decoder(in);
    std::string out((std::istreambuf_iterator<char>(decoder)), std::istreambuf_iterator<char>());
    if (!out.empty()) return out;
  } catch (const Poco::Exception&) {
    // said below
  }
  return Broken(what + " is not base64");
}

// `name`-data, or the content of the file that `name` names; empty when there is neither.
Result<std::string> DataOrFile(const YAML::Node& map, const std::string& name,
                               const std::string& base_dir) {
  const std::string data = Text(map, (name + "-data").c_str());
  if (!data.empty()) return Decode(data, name + "-data");
  std::string file = Text(map, name.c_str());
  if (file.empty()) return std::string();
  if (file[0] != '/' && !base_dir.empty()) file = base_dir + "/" + file;
  std::ifstream in(file, std::ios::binary);
  if (!in) return Broken(name + ": can not read file " + file);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

Result<Endpoint> FromYaml(const YAML::Node& root, const std::string& base_dir) {
  if (!root.IsMap()) return Broken("not a YAML mapping");
  const std::string current = Text(root, "current-context");
  if (current.empty()) return Broken("current-context is not set");
  const YAML::Node context = Named(root, "contexts", current, "context");
  if (!context || !context.IsMap()) return Broken("no context named " + current);
  const YAML::Node cluster = Named(root, "clusters", Text(context, "cluster"), "cluster");
  if (!cluster || !cluster.IsMap()) {
    return Broken("context " + current + " names the cluster \"" + Text(context, "cluster") +
                  "\", which is not listed");
  }
  Result<Endpoint> e = ParseServerUrl(Text(cluster, "server"));
  if (!e.ok()) return e;
  Result<std::string> ca = DataOrFile(cluster, "certificate-authority", base_dir);
  if (!ca.ok()) return ca.error();
  e->ca_pem = *ca;
  e->insecure = Text(cluster, "insecure-skip-tls-verify") == "true";

  const std::string user_name = Text(context, "user");
  if (user_name.empty()) return e;
  const YAML::Node user = Named(root, "users", user_name, "user");
  if (!user)
    return Broken("context " + current + " names the user \"" + user_name +
                  "\", which is not listed");
  if (!user.IsMap()) return e;
  if (user["exec"] || user["auth-provider"]) {
    return Broken("user " + user_name +
                  " uses exec or auth-provider: give a token or a client certificate instead");
  }
  Result<std::string> cert = DataOrFile(user, "client-certificate", base_dir);
  if (!cert.ok()) return cert.error();
  Result<std::string> key = DataOrFile(user, "client-key", base_dir);
  if (!key.ok()) return key.error();
  if (cert->empty() != key->empty()) {
    return Broken("user " + user_name + " has only one of client-certificate and client-key");
  }
  e->cert_pem = *cert;
  e->key_pem = *key;
  e->token = Text(user, "token");
  if (e->token.empty() && user["tokenFile"]) {
    Result<std::string> token = DataOrFile(user, "tokenFile", base_dir);
    if (!token.ok()) return token.error();
    e->token = token->substr(0, token->find_last_not_of(" \r\n\t") + 1);
  }
  return e;
}

}  // namespace

Result<Endpoint> ParseServerUrl(const std::string& url) {
  try {
    const Poco::URI uri(url);
    if (uri.getScheme() != "https" && uri.getScheme() != "http") {
      return Broken("server \"" + url + "\" is not an http or https address");
    }
    if (uri.getHost().empty()) return Broken("server \"" + url + "\" has no host");
    Endpoint e;
    e.tls = uri.getScheme() == "https";
    e.host = uri.getHost();
    e.port = uri.getPort();
    e.path = uri.getPath();
    while (!e.path.empty() && e.path.back() == '/') e.path.pop_back();
    return e;
  } catch (const Poco::Exception&) {
    return Broken("server \"" + url + "\" is not an address");
  }
}

Result<Endpoint> ParseKubeconfig(const std::string& text, const std::string& base_dir) {
  try {
    return FromYaml(YAML::Load(text), base_dir);
  } catch (const YAML::Exception& e) {
    return Broken(e.what());
  } catch (const Poco::Exception& e) {
    return Broken(e.displayText());
  }
}

}  // namespace kcm::devcluster::nodes
