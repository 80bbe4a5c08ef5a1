// SPDX-License-Identifier: Apache-2.0
// Content negotiation (media_type.h).
#include "devcluster/server/media_type.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "devcluster/server/failure.h"

namespace kcm::devcluster {
namespace {

constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
constexpr size_t kMaxAlternatives = 32;

struct Alternative {
  std::string type;
  std::map<std::string, std::string, std::less<>> parameters;
  double q = 1;
};

std::string Lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

std::string_view Trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::string_view NextPart(std::string_view* rest, char separator) {
  const size_t end = rest->find(separator);
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return Trim(part);
}

Alternative ParseAlternative(std::string_view text) {
  Alternative a;
  a.type = Lower(NextPart(&text, ';'));
  while (!text.empty()) {
    const std::string_view parameter = NextPart(&text, ';');
    const size_t eq = parameter.find('=');
    if (eq == std::string_view::npos) continue;
    const std::string name = Lower(Trim(parameter.substr(0, eq)));
    std::string_view value = Trim(parameter.substr(eq + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (name == "q") {
      a.q = std::strtod(std::string(value).c_str(), nullptr);
    } else {
      a.parameters[name] = std::string(value);
    }
  }
  return a;
}

// nullopt: not acceptable. `bad_parameters` tells that only the parameters were the problem.
std::optional<Media> Match(const Alternative& a, const Offer& offer, bool* bad_parameters) {
  Media m;
  if (a.type == "*/*" || a.type == "application/json" || a.type.empty()) {
    m.encoding = Media::Encoding::kJson;
  } else if (a.type == "application/yaml" && offer.yaml) {
    m.encoding = Media::Encoding::kYaml;
  } else if (a.type == kProtobufType && offer.protobuf) {
    m.encoding = Media::Encoding::kProtobuf;
  } else {
    return std::nullopt;
  }
  const auto pretty = a.parameters.find("pretty");
  m.pretty = pretty != a.parameters.end() && pretty->second == "1";
  const auto as = a.parameters.find("as");
  if (as == a.parameters.end()) return m;
  const auto value = [&](const char* name) {
    const auto it = a.parameters.find(name);
    return it == a.parameters.end() ? std::string() : it->second;
  };
  const std::string group = value("g");
  m.version = value("v");
  if (offer.discovery && group == "apidiscovery.k8s.io" && as->second == "APIGroupDiscoveryList" &&
      m.version == "v2") {
    m.as = Media::As::kDiscovery;
    return m;
  }
  const bool meta = group == "meta.k8s.io" && (m.version == "v1" || m.version == "v1beta1");
  if (meta && offer.table && as->second == "Table" && !m.protobuf()) {
    m.as = Media::As::kTable;
  } else if (meta && offer.partial && as->second == "PartialObjectMetadata") {
    m.as = Media::As::kPartial;
  } else if (meta && offer.partial && as->second == "PartialObjectMetadataList") {
    m.as = Media::As::kPartialList;
  } else {
    *bad_parameters = true;
    return std::nullopt;
  }
  return m;
}

}  // namespace

std::string Media::ContentType() const {
  if (as == As::kDiscovery) {
    return "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList";
  }
  switch (encoding) {
    case Encoding::kProtobuf:
      return std::string(kProtobufType);
    case Encoding::kYaml:
      return "application/yaml";
    default:
      return "application/json";
  }
}

std::string Media::WatchContentType() const {
  return protobuf() ? std::string(kProtobufType) + ";stream=watch" : "application/json";
}

Media Negotiate(std::string_view accept, const Offer& offer) {
  if (Trim(accept).empty()) return Media();
  std::vector<Alternative> alternatives;
  while (!accept.empty() && alternatives.size() < kMaxAlternatives) {
    alternatives.push_back(ParseAlternative(NextPart(&accept, ',')));
  }
  std::stable_sort(alternatives.begin(), alternatives.end(),
                   [](const Alternative& x, const Alternative& y) { return x.q > y.q; });
  bool bad_parameters = false;
  for (const Alternative& a : alternatives) {
    if (std::optional<Media> m = Match(a, offer, &bad_parameters)) return *m;
  }
  std::string offered = "application/json";
  if (offer.yaml) offered += ", application/yaml";
  if (offer.protobuf) offered += ", " + std::string(kProtobufType);
  if (bad_parameters)
    Fail(NotAcceptable("only the following media types are accepted: " + offered));
  ApiError e = NotAcceptable("406: Not Acceptable\n\nAvailable representations: " + offered);
  e.details = Json::object();
  Fail(std::move(e));
}

BodyType BodyTypeOf(std::string_view content_type, std::string* media_type) {
  *media_type = Lower(NextPart(&content_type, ';'));
  if (media_type->empty() || *media_type == "application/json") return BodyType::kJson;
  if (*media_type == "application/yaml") return BodyType::kYaml;
  if (*media_type == kProtobufType) return BodyType::kProtobuf;
  return BodyType::kOther;
}

}  // namespace kcm::devcluster
