// SPDX-License-Identifier: Apache-2.0
// Chooses proxies.
#include "host/client/proxy.h"

#include <Poco/Exception.h>
#include <Poco/Net/IPAddress.h>
#include <Poco/URI.h>

#include <cstdlib>

#include "host/client/base64.h"

namespace kcm::host::client {
namespace {

std::string Lookup(const EnvLookup& env, const std::string& lower, const std::string& upper) {
  for (const std::string& name : {lower, upper}) {
    if (env) {
      if (const std::optional<std::string> v = env(name); v && !v->empty()) return *v;
    } else if (const char* v = std::getenv(name.c_str()); v != nullptr && *v != '\0') {
      return v;
    }
  }
  return "";
}

// One entry of NO_PROXY: "*", address, CIDR, "host[:port]", ".domain".
bool Matches(std::string entry, const ServerAddress& server) {
  if (entry == "*") return true;
  Poco::Net::IPAddress address;
  const bool is_address = Poco::Net::IPAddress::tryParse(server.host, address);
  if (const size_t slash = entry.find('/'); slash != std::string::npos) {
    Poco::Net::IPAddress network;
    if (!is_address || !Poco::Net::IPAddress::tryParse(entry.substr(0, slash), network))
      return false;
    if (network.family() != address.family()) return false;
    const unsigned bits = static_cast<unsigned>(std::atoi(entry.c_str() + slash + 1));
    if (bits > static_cast<unsigned>(network.length()) * 8) return false;
    const Poco::Net::IPAddress mask(bits, network.family());
    return (address & mask) == (network & mask);
  }
  if (const size_t colon = entry.find(':');
      colon != std::string::npos && entry.find(':', colon + 1) == std::string::npos) {
    if (entry.substr(colon + 1) != std::to_string(server.port)) return false;
    entry.resize(colon);
  }
  if (is_address) return entry == server.host;
  if (entry.rfind("*.", 0) == 0) entry.erase(0, 1);
  const bool suffix_only = !entry.empty() && entry[0] == '.';
  if (!suffix_only && entry == server.host) return true;
  const std::string suffix = suffix_only ? entry : "." + entry;
  return server.host.size() > suffix.size() && server.host.ends_with(suffix);
}

bool Excluded(const std::string& no_proxy, const ServerAddress& server) {
  Poco::Net::IPAddress address;
  if (server.host == "localhost" ||
      (Poco::Net::IPAddress::tryParse(server.host, address) && address.isLoopback())) {
    return true;
  }
  size_t begin = 0;
  while (begin <= no_proxy.size()) {
    size_t end = no_proxy.find(',', begin);
    if (end == std::string::npos) end = no_proxy.size();
    std::string entry = no_proxy.substr(begin, end - begin);
    entry.erase(0, entry.find_first_not_of(" \t"));
    entry.erase(entry.find_last_not_of(" \t") + 1);
    if (!entry.empty() && Matches(entry, server)) return true;
    begin = end + 1;
  }
  return false;
}

Result<Proxy> Parse(const std::string& url) {
  // User and password of a proxy must not reach an error text.
  static constexpr char kBad[] =
      "proxy URL is not valid: must be http://host:port or socks5://host:port";
  try {
    const Poco::URI uri(url.find("://") == std::string::npos ? "http://" + url : url);
    Proxy out;
    if (uri.getScheme() == "https") {
      return MakeError(Code::kUnsupported,
                       "proxies reached by https are not supported: use an http or socks5 proxy");
    }
    if (uri.getScheme() != "http" && uri.getScheme() != "socks5")
      return MakeError(Code::kInvalid, kBad);
    out.kind = uri.getScheme() == "http" ? Proxy::Kind::kHttp : Proxy::Kind::kSocks5;
    out.host = uri.getHost();
    out.port = uri.getPort() != 0 ? uri.getPort() : uint16_t{1080};
    const std::string user = uri.getUserInfo();
    out.username = user.substr(0, user.find(':'));
    if (user.find(':') != std::string::npos) out.password = user.substr(user.find(':') + 1);
    if (out.host.empty()) return MakeError(Code::kInvalid, kBad);
    return out;
  } catch (const Poco::Exception&) {
    return MakeError(Code::kInvalid, kBad);
  }
}

}  // namespace

Result<Proxy> ChooseProxy(const std::string& proxy_url, const ServerAddress& server,
                          const EnvLookup& env) {
  if (!proxy_url.empty()) return Parse(proxy_url);
  const std::string url = server.tls ? Lookup(env, "https_proxy", "HTTPS_PROXY")
                                     : Lookup(env, "http_proxy", "HTTP_PROXY");
  if (url.empty() || Excluded(Lookup(env, "no_proxy", "NO_PROXY"), server)) return Proxy();
  return Parse(url);
}

std::string ProxyAuthorization(const Proxy& proxy) {
  if (proxy.username.empty()) return "";
  return "Basic " + EncodeBase64(proxy.username + ":" + proxy.password);
}

std::string ConnectRequest(const Proxy& proxy, const std::string& host_port) {
  std::string out = "CONNECT " + host_port + " HTTP/1.1\r\nHost: " + host_port + "\r\n";
  const std::string authorization = ProxyAuthorization(proxy);
  if (!authorization.empty()) out += "Proxy-Authorization: " + authorization + "\r\n";
  return out + "\r\n";
}

}  // namespace kcm::host::client
