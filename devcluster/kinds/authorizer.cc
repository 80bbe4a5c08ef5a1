// SPDX-License-Identifier: Apache-2.0
// The RBAC index and its questions.
#include "devcluster/kinds/authorizer.h"

#include <algorithm>
#include <map>
#include <set>

#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

namespace {

const Gvr kRoles{"rbac.authorization.k8s.io", "v1", "roles"};
const Gvr kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles"};
const Gvr kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings"};
const Gvr kClusterRoleBindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings"};

std::vector<std::string> Strings(const Json& holder, std::string_view member) {
  std::vector<std::string> out;
  for (const Json& item : Items(holder, member)) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

bool Has(const std::vector<std::string>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool ResourceMatches(const Rule& rule, std::string_view resource, std::string_view subresource) {
  const std::string combined = subresource.empty()
                                   ? std::string(resource)
                                   : std::string(resource) + "/" + std::string(subresource);
  for (const std::string& r : rule.resources) {
    if (r == "*" || r == combined) return true;
    if (!subresource.empty() && r.starts_with("*/") && std::string_view(r).substr(2) == subresource)
      return true;
  }
  return false;
}

bool Matches(const Rule& rule, const ResourceRequest& q) {
  return (Has(rule.verbs, "*") || Has(rule.verbs, q.verb)) &&
         (Has(rule.groups, "*") || Has(rule.groups, q.group)) &&
         ResourceMatches(rule, q.resource, q.subresource) &&
         (rule.names.empty() || Has(rule.names, q.name));
}

bool UrlMatches(const Rule& rule, std::string_view verb, std::string_view path) {
  if (!Has(rule.verbs, "*") && !Has(rule.verbs, verb)) return false;
  return std::any_of(rule.urls.begin(), rule.urls.end(), [path](const std::string& url) {
    if (url == "*" || url == path) return true;
    return url.ends_with('*') && path.starts_with(std::string_view(url).substr(0, url.size() - 1));
  });
}

// The key under which a subject's grants are kept: "u:NAME" or "g:NAME".
std::string SubjectKey(const Json& subject, std::string_view ns) {
  const std::string kind(Text(subject, "kind")), name(Text(subject, "name"));
  if (kind == "Group") return "g:" + name;
  if (kind != "ServiceAccount") return "u:" + name;
  std::string space(Text(subject, "namespace"));
  if (space.empty()) space = ns;
  return "u:system:serviceaccount:" + space + ":" + name;
}

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace

// Immutable once built.
struct Authorizer::Index {
  struct Grant {
    std::shared_ptr<const std::vector<Rule>> rules;
    std::string ns;      // "" of cluster role bindings
    std::string reason;  // `RBAC: allowed by ...`
  };
  uint64_t revision = 0;
  std::map<std::string, std::vector<Grant>, std::less<>> grants;  // by subject

  explicit Index(const Reader& reader) {
    std::map<std::string, std::shared_ptr<const std::vector<Rule>>> roles;
    const auto load = [&](const Gvr& gvr) {
      for (const Json& role : reader.List(gvr, "")) {
        auto rules = std::make_shared<std::vector<Rule>>();
        for (const Json& rule : Items(role, "rules")) rules->push_back(ReadRule(rule));
        roles[std::string(Text(role, "metadata.namespace")) + "/" +
              std::string(Text(role, "metadata.name"))] = rules;
      }
    };
    load(kRoles);
    load(kClusterRoles);
    const auto bind = [&](const Gvr& gvr, const char* kind) {
      for (const Json& binding : reader.List(gvr, "")) {
        const std::string ns(Text(binding, "metadata.namespace")),
            name(Text(binding, "metadata.name"));
        const std::string role_kind(Text(binding, "roleRef.kind")),
            role(Text(binding, "roleRef.name"));
        const auto rules = roles.find((role_kind == "Role" ? ns : "") + "/" + role);
        if (rules == roles.end()) continue;
        for (const Json& subject : Items(binding, "subjects")) {
          std::string who(Text(subject, "name"));
          if (Text(subject, "kind") == "ServiceAccount")
            who += "/" + std::string(Text(subject, "namespace"));
          const std::string reason = std::string("RBAC: allowed by ") + kind + " " +
                                     Quoted(ns.empty() ? name : name + "/" + ns) + " of " +
                                     role_kind + " " + Quoted(role) + " to " +
                                     std::string(Text(subject, "kind")) + " " + Quoted(who);
          grants[SubjectKey(subject, ns)].push_back({rules->second, ns, reason});
        }
      }
    };
    bind(kClusterRoleBindings, "ClusterRoleBinding");
    bind(kRoleBindings, "RoleBinding");
  }

  // Calls `visit` with each grant of the user that holds in `ns` until it returns true.
  template <class Visit>
  bool Any(const UserInfo& user, std::string_view ns, Visit visit) const {
    const auto of = [&](const std::string& key) {
      const auto it = grants.find(key);
      if (it == grants.end()) return false;
      return std::any_of(it->second.begin(), it->second.end(), [&](const Grant& grant) {
        return (grant.ns.empty() || (!ns.empty() && grant.ns == ns)) && visit(grant);
      });
    };
    if (of("u:" + user.name)) return true;
    return std::any_of(user.groups.begin(), user.groups.end(),
                       [&](const std::string& group) { return of("g:" + group); });
  }
};

Authorizer::Authorizer() = default;
Authorizer::~Authorizer() = default;

std::shared_ptr<const Authorizer::Index> Authorizer::Current(const Reader& reader) const {
  const uint64_t revision = reader.AuthorizationRevision();
  if (revision != 0) {
    const std::lock_guard lock(mutex_);
    if (index_ != nullptr && index_->revision == revision) return index_;
  }
  // Built without the lock: the reader may block on the store. Two builders at once only cost time.
  auto fresh = std::make_shared<Index>(reader);
  fresh->revision = revision;  // read before the lists: an index is at worst newer than it says
  if (revision != 0) {
    const std::lock_guard lock(mutex_);
    if (index_ == nullptr || index_->revision < revision) index_ = fresh;
  }
  return fresh;
}

bool Authorizer::Allowed(const UserInfo& user, const ResourceRequest& request, const Reader& reader,
                         std::string* reason) const {
  if (Has(user.groups, "system:masters")) return true;
  return Current(reader)->Any(user, request.ns, [&](const Index::Grant& grant) {
    const bool match = std::any_of(grant.rules->begin(), grant.rules->end(),
                                   [&](const Rule& rule) { return Matches(rule, request); });
    if (match && reason != nullptr) *reason = grant.reason;
    return match;
  });
}

bool Authorizer::AllowedUrl(const UserInfo& user, std::string_view verb, std::string_view path,
                            const Reader& reader, std::string* reason) const {
  if (Has(user.groups, "system:masters")) return true;
  return Current(reader)->Any(user, "", [&](const Index::Grant& grant) {
    const bool match = std::any_of(grant.rules->begin(), grant.rules->end(),
                                   [&](const Rule& rule) { return UrlMatches(rule, verb, path); });
    if (match && reason != nullptr) *reason = grant.reason;
    return match;
  });
}

std::vector<Rule> Authorizer::RulesOf(const UserInfo& user, std::string_view ns,
                                      const Reader& reader) const {
  std::vector<Rule> out;
  if (Has(user.groups, "system:masters")) {
    out.push_back({{"*"}, {"*"}, {"*"}, {}, {}});
    out.push_back({{"*"}, {}, {}, {}, {"*"}});
    return out;
  }
  Current(reader)->Any(user, ns, [&](const Index::Grant& grant) {
    out.insert(out.end(), grant.rules->begin(), grant.rules->end());
    return false;
  });
  return out;
}

Rule ReadRule(const Json& rule) {
  return {Strings(rule, "verbs"), Strings(rule, "apiGroups"), Strings(rule, "resources"),
          Strings(rule, "resourceNames"), Strings(rule, "nonResourceURLs")};
}

std::string Uncovered(const std::vector<Rule>& wanted, const std::vector<Rule>& owned) {
  const auto list = [](const std::vector<std::string>& values) {
    std::string out;
    for (const std::string& v : values) out += (out.empty() ? "" : " ") + Quoted(v);
    return "[" + out + "]";
  };
  std::vector<std::string> lines;
  for (const Rule& rule : wanted) {
    std::vector<std::string> missing_verbs;
    for (const std::string& verb : rule.verbs) {
      bool covered = true;
      for (const std::string& url : rule.urls) {
        covered = covered && std::any_of(owned.begin(), owned.end(),
                                         [&](const Rule& o) { return UrlMatches(o, verb, url); });
      }
      for (const std::string& group : rule.groups) {
        for (const std::string& resource : rule.resources) {
          const size_t slash = resource.find('/');
          const std::string base = resource.substr(0, slash);
          const std::string sub = slash == std::string::npos ? "" : resource.substr(slash + 1);
          const std::vector<std::string> names =
              rule.names.empty() ? std::vector<std::string>{""} : rule.names;
          for (const std::string& name : names) {
            covered = covered && std::any_of(owned.begin(), owned.end(), [&](const Rule& o) {
                        return Matches(o, {verb, group, base, sub, "", name});
                      });
          }
        }
      }
      if (!covered) missing_verbs.push_back(verb);
    }
    if (missing_verbs.empty()) continue;
    if (!rule.urls.empty()) {
      lines.push_back("{NonResourceURLs:" + list(rule.urls) + ", Verbs:" + list(missing_verbs) +
                      "}");
      continue;
    }
    lines.push_back("{APIGroups:" + list(rule.groups) + ", Resources:" + list(rule.resources) +
                    (rule.names.empty() ? "" : ", ResourceNames:" + list(rule.names)) +
                    ", Verbs:" + list(missing_verbs) + "}");
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

}  // namespace kcm::devcluster::kinds
