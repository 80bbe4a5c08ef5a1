// SPDX-License-Identifier: Apache-2.0
// PodSecurity (spec I): the restricted and baseline levels that namespace labels ask for, in the
// words of the API server.
#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

namespace {

std::vector<const Json*> Containers(const Json& spec) {
  std::vector<const Json*> out;
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& c : Items(spec, list)) out.push_back(&c);
  }
  return out;
}

// `container "c"` or `containers "a", "b"`; empty when there is none.
template <class Bad>
std::string Offenders(const Json& spec, Bad bad) {
  std::string names;
  int count = 0;
  for (const Json* c : Containers(spec)) {
    if (!bad(*c)) continue;
    names += (names.empty() ? "" : ", ") + ("\"" + std::string(Text(*c, "name")) + "\"");
    ++count;
  }
  return names.empty() ? "" : (count == 1 ? "container " : "containers ") + names;
}

void Baseline(const Json& spec, std::vector<std::string>* out) {
  std::string shared;
  for (const char* member : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (Flag(spec, member)) shared += (shared.empty() ? "" : ", ") + std::string(member) + "=true";
  }
  if (!shared.empty()) out->push_back("host namespaces (" + shared + ")");
  std::string volumes;
  for (const Json& v : Items(spec, "volumes")) {
    if (Find(v, "hostPath") != nullptr)
      volumes += (volumes.empty() ? "\"" : ", \"") + std::string(Text(v, "name")) + "\"";
  }
  if (!volumes.empty()) {
    out->push_back("hostPath volumes (" +
                   std::string(volumes.find(',') == std::string::npos ? "volume " : "volumes ") +
                   volumes + ")");
  }
  const std::string privileged =
      Offenders(spec, [](const Json& c) { return Flag(c, "securityContext.privileged"); });
  if (!privileged.empty())
    out->push_back("privileged (" + privileged + " must not set securityContext.privileged=true)");
}

void Restricted(const Json& spec, std::vector<std::string>* out) {
  std::string who = Offenders(spec, [](const Json& c) {
    return Flag(c, "securityContext.allowPrivilegeEscalation", true);
  });
  if (!who.empty()) {
    out->push_back("allowPrivilegeEscalation != false (" + who +
                   " must set securityContext.allowPrivilegeEscalation=false)");
  }
  who = Offenders(spec, [](const Json& c) {
    for (const Json& drop : Items(c, "securityContext.capabilities.drop")) {
      if (drop == "ALL") return false;
    }
    return true;
  });
  if (!who.empty()) {
    out->push_back("unrestricted capabilities (" + who +
                   " must set securityContext.capabilities.drop=[\"ALL\"])");
  }
  if (!Flag(spec, "securityContext.runAsNonRoot")) {
    who = Offenders(spec, [](const Json& c) { return !Flag(c, "securityContext.runAsNonRoot"); });
    if (!who.empty())
      out->push_back("runAsNonRoot != true (pod or " + who +
                     " must set securityContext.runAsNonRoot=true)");
  }
  const auto profiled = [](const Json& holder) {
    const std::string_view type = Text(holder, "securityContext.seccompProfile.type");
    return type == "RuntimeDefault" || type == "Localhost";
  };
  if (!profiled(spec)) {
    who = Offenders(spec, [&](const Json& c) { return !profiled(c); });
    if (!who.empty()) {
      out->push_back(
          "seccompProfile (pod or " + who +
          " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")");
    }
  }
}

// What violates `level`; empty when nothing does.
std::string Violations(const Json& spec, std::string_view level) {
  std::vector<std::string> found;
  if (level == "baseline" || level == "restricted") Baseline(spec, &found);
  if (level == "restricted") Restricted(spec, &found);
  std::string out;
  for (const std::string& f : found) out += (out.empty() ? "" : ", ") + f;
  return out;
}

const char* TemplatePath(const Admission& a) {
  if (a.Of("pods")) return "spec";
  if (a.Of("cronjobs", "batch")) return "spec.jobTemplate.spec.template.spec";
  if (a.Of("podtemplates")) return "template.spec";
  const bool workload =
      a.kind.gvr.group == "apps" || a.Of("jobs", "batch") || a.Of("replicationcontrollers");
  return workload && !a.Of("controllerrevisions", "apps") ? "spec.template.spec" : nullptr;
}

}  // namespace

Refusal PodSecurity(const Admission& a) {
  const char* path = a.Main() && (a.IsCreate() || a.IsUpdate()) ? TemplatePath(a) : nullptr;
  const Json* spec = path == nullptr ? nullptr : Find(a.object, path);
  if (spec == nullptr) return std::nullopt;
  if (a.old != nullptr && SameMember(a.object, *a.old, path)) return std::nullopt;
  static const Gvr* const kNamespaces = new Gvr{"", "v1", "namespaces"};
  const std::optional<Json> ns = a.info.reader->Get(*kNamespaces, "", a.info.ns);
  const Json* labels = ns ? Find(*ns, "metadata.labels") : nullptr;
  if (labels == nullptr) return std::nullopt;
  const auto level = [&](const char* mode) {
    return KeyText(*labels, std::string("pod-security.kubernetes.io/") + mode);
  };
  const auto shown = [&](const char* mode) {
    const std::string version(level((std::string(mode) + "-version").c_str()));
    return "PodSecurity \"" + std::string(level(mode)) + ":" +
           (version.empty() ? "latest" : version) + "\": ";
  };
  const std::string denied = a.Of("pods") ? Violations(*spec, level("enforce")) : "";
  if (!denied.empty()) return a.Forbid("violates " + shown("enforce") + denied);
  const std::string warned = Violations(*spec, level("warn"));
  if (!warned.empty() && a.info.warnings != nullptr)
    a.info.warnings->push_back("would violate " + shown("warn") + warned);
  return std::nullopt;
}

}  // namespace kcm::devcluster::kinds
