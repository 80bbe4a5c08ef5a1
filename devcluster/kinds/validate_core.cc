// SPDX-License-Identifier: Apache-2.0
// Validation of services and configuration kinds of the core group.
#include <algorithm>
#include <set>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/base64.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/validate.h"
#include "kcm/rules/name_validation.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr const char* kFrozen = "field is immutable when `immutable` is set";
constexpr int64_t kMaxPayload = 1024 * 1024;

void Port(FieldErrors& out, const Json& holder, const char* member, const std::string& prefix) {
  const int64_t port = Integer(holder, member);
  if (port < 1 || port > 65535) {
    out.push_back(InvalidValue(prefix + member, std::to_string(port),
                               "must be between 1 and 65535, inclusive"));
  }
}

void ValidateServicePorts(FieldErrors& out, const Json& spec) {
  const Json& ports = Items(spec, "ports");
  std::set<std::string> names, keys;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string at = "spec.ports[" + std::to_string(i) + "].", name(Text(ports[i], "name"));
    if (ports.size() > 1 && name.empty()) {
      out.push_back(Required(at + "name", ""));
    } else if (!name.empty()) {
      for (const std::string& fault : rules::ValidateDns1123Label(name)) {
        out.push_back(InvalidValue(at + "name", GoQuote(name), fault));
      }
      if (!names.insert(name).second) out.push_back(Duplicate(at + "name", GoQuote(name)));
    }
    Port(out, ports[i], "port", at);
    OneOf(out, ports[i], "protocol", {"SCTP", "TCP", "UDP"}, at);
    const std::string key =
        std::to_string(Integer(ports[i], "port")) + "/" + std::string(Text(ports[i], "protocol"));
    if (!keys.insert(key).second) {
      out.push_back(Duplicate(at.substr(0, at.size() - 1),
                              "{\"protocol\":\"" + std::string(Text(ports[i], "protocol")) +
                                  "\",\"port\":" + std::to_string(Integer(ports[i], "port")) +
                                  "}"));
    }
  }
}

// Bytes of a value as it will be used; `base64`: it is encoded.
int64_t PayloadBytes(const Json& value, bool base64) {
  if (!value.is_string()) return 0;
  const std::string& text = value.get_ref<const std::string&>();
  if (!base64) return static_cast<int64_t>(text.size());
  const int64_t digits = std::count_if(text.begin(), text.end(),
                                       [](char c) { return c != '=' && c != '\n' && c != '\r'; });
  return digits * 3 / 4;
}

struct Payload {
  const char* member;
  bool base64;
};

void ValidateData(FieldErrors& out, const Json& o, std::initializer_list<Payload> members) {
  int64_t bytes = 0;
  for (const auto& [member, base64] : members) {
    const Json* data = Find(o, member);
    if (data == nullptr || !data->is_object()) continue;
    for (const auto& [key, value] : data->items()) {
      for (const std::string& fault : rules::ValidateConfigMapKey(key)) {
        out.push_back(InvalidValue(std::string(member) + "[" + key + "]", GoQuote(key), fault));
      }
      bytes += PayloadBytes(value, base64);
    }
  }
  if (bytes > kMaxPayload) out.push_back(TooLong(members.size() > 1 ? "" : "data", kMaxPayload));
}

void ValidateFrozen(FieldErrors& out, const Json& o, const Json& old,
                    std::initializer_list<const char*> members) {
  if (!Flag(old, "immutable")) return;
  if (!Flag(o, "immutable")) out.push_back(ForbiddenField("immutable", kFrozen));
  for (const char* member : members) {
    if (!SameMember(o, old, member)) out.push_back(ForbiddenField(member, kFrozen));
  }
}

void ValidateSecret(FieldErrors& out, const Json& o, const RequestInfo& info) {
  ValidateData(out, o, {{"data", true}});
  const std::string_view type = Text(o, "type");
  const Json none = Json::object();
  const Json* data = Find(o, "data");
  const auto need = [&](const char* key) {
    if (Key(data == nullptr ? none : *data, key) == nullptr)
      out.push_back(Required(std::string("data[") + key + "]", ""));
  };
  if (type == "kubernetes.io/service-account-token") {
    const Json* annotations = Find(o, "metadata.annotations");
    if (annotations == nullptr ||
        KeyText(*annotations, "kubernetes.io/service-account.name").empty()) {
      out.push_back(Required("metadata.annotations[kubernetes.io/service-account.name]", ""));
    }
  } else if (type == "kubernetes.io/dockerconfigjson" || type == "kubernetes.io/dockercfg") {
    const char* key = type.ends_with("json") ? ".dockerconfigjson" : ".dockercfg";
    const size_t before = out.size();
    need(key);
    if (out.size() == before) {
      const std::optional<std::string> text = DecodeBase64(KeyText(*data, key));
      if (!text || Json::parse(*text, nullptr, false).is_discarded()) {
        out.push_back(InvalidValue(std::string("data[") + key + "]",
                                   "\"<secret contents redacted>\"",
                                   "invalid character found in secret contents"));
      }
    }
  } else if (type == "kubernetes.io/basic-auth") {
    const bool any =
        data != nullptr && (Key(*data, "username") != nullptr || Key(*data, "password") != nullptr);
    if (!any) {
      need("username");
      need("password");
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    need("ssh-privatekey");
  } else if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
    if (data != nullptr && Key(*data, "tls.crt") != nullptr) {
      const std::optional<std::string> pem = DecodeBase64(KeyText(*data, "tls.crt"));
      if (!pem || pem->find("-----BEGIN") == std::string::npos) {
        Warn(info, "tls: failed to find any PEM data in certificate input");
      }
    }
  }
}

void ValidateEndpoints(FieldErrors& out, const Json& o) {
  const Json& subsets = Items(o, "subsets");
  for (size_t i = 0; i < subsets.size(); ++i) {
    const std::string at = "subsets[" + std::to_string(i) + "]";
    if (Items(subsets[i], "addresses").empty() && Items(subsets[i], "notReadyAddresses").empty()) {
      out.push_back(Required(at, "must specify `addresses` or `notReadyAddresses`"));
    }
    const Json& ports = Items(subsets[i], "ports");
    for (size_t k = 0; k < ports.size(); ++k) {
      const std::string port_at = at + ".ports[" + std::to_string(k) + "].";
      if (ports.size() > 1 && Text(ports[k], "name").empty())
        out.push_back(Required(port_at + "name", ""));
      Port(out, ports[k], "port", port_at);
      OneOf(out, ports[k], "protocol", {"SCTP", "TCP", "UDP"}, port_at);
    }
  }
}

void ValidateNamespaceLabels(FieldErrors& out, const Json& o) {
  const Json* labels = Find(o, "metadata.labels");
  if (labels == nullptr) return;
  for (const char* mode : {"enforce", "audit", "warn"}) {
    const std::string key = std::string("pod-security.kubernetes.io/") + mode;
    const Json* level = Key(*labels, key);
    if (level == nullptr || *level == "privileged" || *level == "baseline" ||
        *level == "restricted")
      continue;
    out.push_back(InvalidValue("metadata.labels[" + key + "]", level->dump(),
                               "must be one of privileged, baseline, restricted"));
  }
}

void ValidateNode(FieldErrors& out, const Json& o) {
  const Json& taints = Items(o, "spec.taints");
  std::set<std::string> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    const std::string at = "spec.taints[" + std::to_string(i) + "]", key(Text(taints[i], "key"));
    const std::string effect(Text(taints[i], "effect"));
    for (const std::string& fault : rules::ValidateQualifiedName(key)) {
      out.push_back(InvalidValue(at + ".key", GoQuote(key), fault));
    }
    if (effect.empty())
      out.push_back(Required(at + ".effect", ""));
    else
      OneOf(out, taints[i], "effect", {"NoExecute", "NoSchedule", "PreferNoSchedule"}, at + ".");
    if (!seen.insert(key + ":" + effect).second) {
      out.push_back(Duplicate(at, "{\"key\":\"" + key + "\",\"effect\":\"" + effect + "\"}"));
    }
  }
}

void ValidateQuota(FieldErrors& out, const Json& o) {
  const Json* hard = Find(o, "spec.hard");
  if (hard == nullptr || !hard->is_object()) return;
  for (const auto& [name, amount] : hard->items()) {
    if (amount.is_string() && amount.get_ref<const std::string&>().starts_with("-")) {
      out.push_back(InvalidValue("spec.hard[" + name + "]", amount.dump(),
                                 "must be greater than or equal to 0"));
    }
  }
}

}  // namespace

FieldErrors ValidateService(const Validation& v, const Json& o) {
  FieldErrors out;
  const Json spec = o.value("spec", Json::object());
  const std::string type(Text(spec, "type"));
  if (Items(spec, "ports").empty() && Text(spec, "clusterIP") != "None" && type != "ExternalName") {
    out.push_back(Required("spec.ports", ""));
  }
  if (type == "ExternalName") {
    if (!Text(spec, "clusterIP").empty()) {
      out.push_back(
          ForbiddenField("spec.clusterIPs[0]", "may not be set for ExternalName services"));
    }
    const std::string_view name = Text(spec, "externalName");
    if (name.empty()) {
      out.push_back(Required("spec.externalName", ""));
    } else {
      const std::string_view bare = name.back() == '.' ? name.substr(0, name.size() - 1) : name;
      for (const std::string& fault : rules::ValidateDns1123Subdomain(bare)) {
        out.push_back(InvalidValue("spec.externalName", GoQuote(name), fault));
      }
    }
  } else if (type == "LoadBalancer" && Text(spec, "clusterIP") == "None") {
    out.push_back(InvalidValue("spec.clusterIPs[0]", "\"None\"",
                               "may not be set to 'None' for LoadBalancer services"));
  }
  ValidateServicePorts(out, spec);
  Append(out, ValidateLabels(Find(spec, "selector"), "spec.selector"));
  OneOf(out, spec, "sessionAffinity", {"ClientIP", "None"}, "spec.");
  OneOf(out, spec, "type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, "spec.");
  if (!Items(spec, "externalIPs").empty() && v.info.operation == Operation::kCreate) {
    Warn(v.info,
         "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  return out;
}

FieldErrors ValidateServiceUpdate(const Validation& v, const Json& o, const Json& old) {
  FieldErrors out;
  if (v.info.subresource == "status") return out;
  const std::string now_type(Text(o, "spec.type")), was_type(Text(old, "spec.type"));
  const Json& now = Items(o, "spec.clusterIPs");
  const Json& was = Items(old, "spec.clusterIPs");
  if (was_type != "ExternalName" && now_type != "ExternalName" && !was.empty()) {
    if (now.empty()) {
      out.push_back(
          InvalidValue("spec.clusterIPs[0]", "null", "primary clusterIP can not be unset"));
    } else if (now[0] != was[0]) {
      out.push_back(InvalidValue("spec.clusterIPs[0]", now.dump(), "may not change once set"));
    }
  }
  Append(out, ValidateService(v, o));
  return out;
}

FieldErrors ValidateCore(const Validation& v, const Json& o) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "configmaps")
    ValidateData(out, o, {{"data", false}, {"binaryData", true}});
  else if (r == "secrets")
    ValidateSecret(out, o, v.info);
  else if (r == "endpoints")
    ValidateEndpoints(out, o);
  else if (r == "events")
    Append(out, ValidateEvent(o, "reportingComponent"));
  else if (r == "namespaces")
    ValidateNamespaceLabels(out, o);
  else if (r == "nodes")
    ValidateNode(out, o);
  else if (r == "resourcequotas")
    ValidateQuota(out, o);
  else if (r == "podtemplates") {
    const Json* spec = Find(o, "template.spec");
    Append(out, ValidatePodSpec(spec == nullptr ? Json::object() : *spec, "template.spec"));
  }
  return out;
}

FieldErrors ValidateCoreUpdate(const Validation& v, const Json& o, const Json& old) {
  FieldErrors out;
  const std::string_view r = v.row.resource;
  if (r == "configmaps") {
    ValidateFrozen(out, o, old, {"data", "binaryData"});
    Append(out, ValidateCore(v, o));
  } else if (r == "secrets") {
    Immutable(out, o, old, "type");
    ValidateFrozen(out, o, old, {"data"});
    Append(out, ValidateCore(v, o));
  } else if (r == "nodes") {
    Append(out, ValidateCore(v, o));
    if (!Items(old, "spec.podCIDRs").empty() && !SameMember(o, old, "spec.podCIDRs")) {
      out.push_back(ForbiddenField(
          "spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid"));
    }
    if (!Text(old, "spec.providerID").empty() && !SameMember(o, old, "spec.providerID")) {
      out.push_back(ForbiddenField(
          "spec.providerID", "node updates may not change providerID except from \"\" to valid"));
    }
  } else if (r == "resourcequotas" && v.info.subresource.empty() &&
             !SameMember(o, old, "spec.scopes")) {
    out.push_back(
        InvalidValue("spec.scopes", Items(o, "spec.scopes").dump(), "field is immutable"));
    Append(out, ValidateCore(v, o));
  } else if (r != "events" && v.info.subresource != "status") {
    Append(out, ValidateCore(v, o));
  }
  return out;
}

}  // namespace kcm::devcluster::kinds
