// SPDX-License-Identifier: Apache-2.0
// Which policies a write meets, and what they say to it.
#include "devcluster/kinds/admission_policy.h"

#include <algorithm>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/resource_table.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/label_selector.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr size_t kKeptPrograms = 512;
constexpr uint64_t kPolicyCost = 10'000'000, kExpressionCost = 1'000'000;
const std::vector<std::string>& Names() {
  static const auto* const kNames = new std::vector<std::string>{
      "object", "oldObject", "request", "params", "namespaceObject", "variables"};
  return *kNames;
}

const char* OperationText(Operation operation) {
  switch (operation) {
    case Operation::kCreate:
      return "CREATE";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kDelete:
      return "DELETE";
    case Operation::kConnect:
      return "CONNECT";
  }
  return "";
}

bool Holds(const Json& list, std::string_view value) {
  return std::any_of(list.begin(), list.end(), [&](const Json& item) {
    return item.is_string() && (item.get_ref<const std::string&>() == value ||
                                item.get_ref<const std::string&>() == "*");
  });
}

// `pods`, `pods/status`, `pods/*`, `*/scale`, `*`, `*/*`.
bool MatchesResource(std::string_view pattern, std::string_view resource, std::string_view sub) {
  if (pattern == "*") return sub.empty();
  const size_t slash = pattern.find('/');
  const std::string_view first = pattern.substr(0, slash);
  const std::string_view second =
      slash == std::string_view::npos ? std::string_view() : pattern.substr(slash + 1);
  return (first == "*" || first == resource) &&
         (second == sub || (second == "*" && slash != std::string_view::npos));
}

// One write as policies see it.
struct Write {
  const ResourceKind& kind;
  const Json& object;  // null at delete
  const Json* old;
  const RequestInfo& info;
  std::string name;
  Json ns;       // the Namespace object, null for cluster-scoped writes
  Json request;  // the variable of that name

  bool Rule(const Json& rule, bool equivalent) const {
    if (!Holds(Items(rule, "operations"), OperationText(info.operation)) &&
        !Items(rule, "operations").empty())
      return false;
    if (!Holds(Items(rule, "apiGroups"), kind.gvr.group)) return false;
    // matchPolicy Equivalent: another version of the same resource counts as well.
    if (!equivalent && !Holds(Items(rule, "apiVersions"), kind.gvr.version)) return false;
    const Json& resources = Items(rule, "resources");
    if (std::none_of(resources.begin(), resources.end(), [&](const Json& r) {
          return r.is_string() && MatchesResource(r.get_ref<const std::string&>(),
                                                  kind.gvr.resource, info.subresource);
        }))
      return false;
    const std::string_view scope = Text(rule, "scope");
    if (scope == "Namespaced" && !kind.namespaced) return false;
    if (scope == "Cluster" && kind.namespaced) return false;
    const Json& names = Items(rule, "resourceNames");
    return names.empty() || Holds(names, name);
  }

  static bool Selects(const Json* selector, const Json* labels) {
    if (selector == nullptr) return true;
    const auto compiled = rules::LabelSelector::FromObject(rules::JsonNode(*selector));
    return compiled.ok() &&
           compiled->Matches(labels == nullptr ? rules::Node() : rules::JsonNode(*labels));
  }

  // A MatchResources; an absent one matches everything.
  bool Matches(const Json* constraints, bool absent_rules_match) const {
    if (constraints == nullptr) return true;
    const Json& rules = Items(*constraints, "resourceRules");
    const bool equivalent = Text(*constraints, "matchPolicy") != "Exact";
    const auto any = [&](const Json& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const Json& rule) { return Rule(rule, equivalent); });
    };
    if (any(Items(*constraints, "excludeResourceRules"))) return false;
    if (!any(rules) && !(rules.empty() && absent_rules_match)) return false;
    const bool is_namespace = kind.gvr.group.empty() && kind.gvr.resource == "namespaces";
    const Json& space = is_namespace ? (object.is_null() ? *old : object) : ns;
    // Writes outside of namespaces are not filtered by them.
    if (!space.is_null() &&
        !Selects(Find(*constraints, "namespaceSelector"), Find(space, "metadata.labels")))
      return false;
    const Json* selector = Find(*constraints, "objectSelector");
    const auto of = [&](const Json& o) {
      return !o.is_null() && Selects(selector, Find(o, "metadata.labels"));
    };
    return of(object) || (old != nullptr && of(*old));
  }
};

Json RequestVariable(const Write& w) {
  const ResourceKind& k = w.kind;
  const Json gvk = {{"group", k.gvr.group}, {"version", k.gvr.version}, {"kind", k.kind}};
  const Json gvr = {
      {"group", k.gvr.group}, {"version", k.gvr.version}, {"resource", k.gvr.resource}};
  const UserInfo& u = w.info.user;
  return {{"kind", gvk},
          {"resource", gvr},
          {"subResource", w.info.subresource},
          {"requestKind", gvk},
          {"requestResource", gvr},
          {"requestSubResource", w.info.subresource},
          {"name", w.name},
          {"namespace", w.info.ns},
          {"operation", OperationText(w.info.operation)},
          {"userInfo",
           {{"username", u.name}, {"uid", u.uid}, {"groups", u.groups}, {"extra", u.extra}}},
          {"dryRun", w.info.dry_run},
          {"options", Json::object()}};
}

// The resource of a kind: built in, or declared by a CRD.
std::optional<std::pair<Gvr, bool>> ResourceOf(std::string_view api_version, std::string_view kind,
                                               const Reader& reader) {
  const size_t slash = api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  const std::string_view version =
      slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  for (const KindRow& row : KindRows()) {
    if (row.kind == kind && row.group == group && row.version == version && !row.create_only)
      return std::pair(Gvr{std::string(group), std::string(version), std::string(row.resource)},
                       !row.cluster);
  }
  for (const Json& crd :
       reader.List(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}, "")) {
    if (Text(crd, "spec.group") != group || Text(crd, "spec.names.kind") != kind) continue;
    return std::pair(
        Gvr{std::string(group), std::string(version), std::string(Text(crd, "spec.names.plural"))},
        Text(crd, "spec.scope") == "Namespaced");
  }
  return std::nullopt;
}

// What one binding of one policy says.
class Verdict {
 public:
  Verdict(const Write& w, const Json& policy, const Json& binding, PolicyPrograms& programs)
      : w_(w), policy_(policy), binding_(binding), programs_(programs) {}

  Refusal Ask() {
    std::string error;
    const std::optional<std::vector<Json>> params = Parameters(&error);
    if (!params) return error.empty() ? std::nullopt : OnError(error);
    for (const Json& p : *params) {
      if (Refusal r = AskWith(p)) return r;
    }
    return std::nullopt;
  }

 private:
  std::string PolicyName() const { return std::string(Text(policy_, "metadata.name")); }
  std::string BindingName() const { return std::string(Text(binding_, "metadata.name")); }

  ApiError Deny(const std::string& message, std::string reason) const {
    const std::string text = "ValidatingAdmissionPolicy '" + PolicyName() + "' with binding '" +
                             BindingName() + "' denied request: " + message;
    ApiError e = Forbidden(w_.kind.gvr, w_.name, text);
    static constexpr std::pair<std::string_view, int> kCodes[] = {{"Unauthorized", 401},
                                                                  {"Forbidden", 403},
                                                                  {"RequestEntityTooLarge", 413},
                                                                  {"Invalid", 422}};
    if (reason.empty()) reason = "Invalid";
    e.code = 422;
    for (const auto& [name, code] : kCodes) {
      if (name == reason) e.code = code;
    }
    e.reason = reason;
    e.details["causes"].push_back({{"message", text}});
    return e;
  }

  // Something could not be evaluated.
  Refusal OnError(const std::string& message) const {
    if (Text(policy_, "spec.failurePolicy") == "Ignore") return std::nullopt;
    return Enforce(message, "");
  }

  Refusal Enforce(const std::string& message, std::string reason) const {
    const Json& actions = Items(binding_, "spec.validationActions");
    if (Holds(actions, "Warn") && w_.info.warnings != nullptr) {
      w_.info.warnings->push_back("Validation failed for ValidatingAdmissionPolicy '" +
                                  PolicyName() + "' with binding '" + BindingName() +
                                  "': " + message);
    }
    if (!Holds(actions, "Deny")) return std::nullopt;
    return Deny(message, std::move(reason));
  }

  // The parameter objects to ask with; a policy without parameters is asked once with null.
  // nullopt with an empty error: the binding does not apply.
  std::optional<std::vector<Json>> Parameters(std::string* error) const {
    const Json* kind = Find(policy_, "spec.paramKind");
    if (kind == nullptr) return std::vector<Json>{Json()};
    const Json* ref = Find(binding_, "spec.paramRef");
    if (ref == nullptr) return std::vector<Json>{Json()};
    const auto resource =
        ResourceOf(Text(*kind, "apiVersion"), Text(*kind, "kind"), *w_.info.reader);
    if (!resource) {
      *error = "failed to configure policy: failed to find resource referenced by paramKind: '" +
               std::string(Text(*kind, "apiVersion")) +
               ", Kind=" + std::string(Text(*kind, "kind")) + "'";
      return std::nullopt;
    }
    std::string ns(Text(*ref, "namespace"));
    if (!resource->second) {
      ns.clear();
    } else if (ns.empty()) {
      ns = w_.info.ns;
    }
    std::vector<Json> found;
    if (const std::string name(Text(*ref, "name")); !name.empty()) {
      if (std::optional<Json> object = w_.info.reader->Get(resource->first, ns, name))
        found.push_back(std::move(*object));
    } else {
      for (Json& object : w_.info.reader->List(resource->first, ns)) {
        if (Write::Selects(Find(*ref, "selector"), Find(object, "metadata.labels")))
          found.push_back(std::move(object));
      }
    }
    if (found.empty() && Text(*ref, "parameterNotFoundAction") != "Allow") {
      *error =
          "failed to configure binding: no params found for policy binding with `Deny` "
          "parameterNotFoundAction";
      return std::nullopt;
    }
    return found;
  }

  cel::Value Run(const std::string& expression, const cel::Variables& variables) {
    const Result<cel::Program> program = programs_.Get(expression, Names());
    if (!program.ok()) return cel::Value::Fail("compilation failed: " + program.error().message);
    const uint64_t most = std::min(kExpressionCost, left_);
    cel::Budget budget(most);
    cel::Value v = program->Run(variables, budget);
    left_ -= most - budget.left();
    return v;
  }

  Refusal AskWith(const Json& params) {
    static const Json* const kNull = new Json();
    cel::Variables variables = {
        {"object", cel::Value::OfJson(w_.object)},
        {"oldObject", cel::Value::OfJson(w_.old == nullptr ? *kNull : *w_.old)},
        {"request", cel::Value::OfJson(w_.request)},
        {"params", cel::Value::OfJson(params)},
        {"namespaceObject", cel::Value::OfJson(w_.ns)},
        {"variables", cel::Value::Of(cel::Map{})}};
    for (const Json& condition : Items(policy_, "spec.matchConditions")) {
      const cel::Value v = Run(std::string(Text(condition, "expression")), variables);
      if (v.failed())
        return OnError("expression '" + std::string(Text(condition, "expression")) +
                       "' resulted in error: " + v.text());
      if (!v.Is(cel::Value::Type::kBool) || !v.truth()) return std::nullopt;
    }
    // A variable sees those before it; what fails in it is an error only where it is used.
    cel::Map named;
    for (const Json& variable : Items(policy_, "spec.variables")) {
      named.push_back({cel::Value::String(std::string(Text(variable, "name"))),
                       Run(std::string(Text(variable, "expression")), variables)});
      variables.back().second = cel::Value::Of(cel::Map(named));
    }
    for (const Json& validation : Items(policy_, "spec.validations")) {
      if (Refusal r = Validate(validation, variables)) return r;
    }
    return std::nullopt;
  }

  Refusal Validate(const Json& validation, const cel::Variables& variables) {
    const std::string expression(Text(validation, "expression"));
    const cel::Value v = Run(expression, variables);
    if (v.failed())
      return OnError("expression '" + expression + "' resulted in error: " + v.text());
    if (v.Is(cel::Value::Type::kBool) && v.truth()) return std::nullopt;
    std::string message(Text(validation, "message"));
    if (const std::string by(Text(validation, "messageExpression")); !by.empty()) {
      const cel::Value made = Run(by, variables);
      if (made.Is(cel::Value::Type::kString) && !made.text().empty() &&
          made.text().find('\n') == std::string::npos)
        message = made.text();
    }
    if (message.empty()) message = "failed expression: " + expression;
    return Enforce(message, std::string(Text(validation, "reason")));
  }

  const Write& w_;
  const Json& policy_;
  const Json& binding_;
  PolicyPrograms& programs_;
  uint64_t left_ = kPolicyCost;  // of all expressions together
};

}  // namespace

Result<cel::Program> PolicyPrograms::Get(const std::string& expression,
                                         const std::vector<std::string>& names) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = programs_.find(expression);
    if (it != programs_.end()) return it->second;
  }
  Result<cel::Program> program = cel::Program::Compile(expression, names);
  if (!program.ok()) return program;
  const std::lock_guard lock(mutex_);
  if (programs_.size() >= kKeptPrograms) programs_.clear();
  programs_.emplace(expression, *program);
  return program;
}

Refusal AskPolicies(const ResourceKind& kind, const Json& object, const Json* old,
                    const RequestInfo& info, PolicyPrograms& programs) {
  // Policies do not guard themselves: a wrong one can always be removed.
  if (kind.gvr.group == kAdmissionGroup) return std::nullopt;
  static const Gvr* const kBindings =
      new Gvr{kAdmissionGroup, "v1", "validatingadmissionpolicybindings"};
  static const Gvr* const kPolicies = new Gvr{kAdmissionGroup, "v1", "validatingadmissionpolicies"};
  const std::vector<Json> bindings = info.reader->List(*kBindings, "");
  if (bindings.empty()) return std::nullopt;
  Write w{kind, object, old, info, info.name, Json(), Json()};
  if (w.name.empty() && object.is_object()) w.name = Text(object, "metadata.name");
  if (!info.ns.empty()) {
    if (std::optional<Json> ns = info.reader->Get(Gvr{"", "v1", "namespaces"}, "", info.ns))
      w.ns = std::move(*ns);
  }
  w.request = RequestVariable(w);
  for (const Json& binding : bindings) {
    const std::optional<Json> policy =
        info.reader->Get(*kPolicies, "", Text(binding, "spec.policyName"));
    if (!policy || !w.Matches(Find(*policy, "spec.matchConstraints"), false)) continue;
    if (!w.Matches(Find(binding, "spec.matchResources"), true)) continue;
    if (Refusal r = Verdict(w, *policy, binding, programs).Ask()) return r;
  }
  return std::nullopt;
}

namespace {

void CheckExpression(FieldErrors& out, const Json& holder, const char* member,
                     const std::string& path, cel::Value::Type type, const char* type_name) {
  const std::string text(Text(holder, member));
  const std::string field = path + "." + member;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    out.push_back(Required(field, std::string(member) + " is not specified"));
    return;
  }
  const Result<cel::Program> program = cel::Program::Compile(text, Names());
  if (!program.ok()) {
    out.push_back(
        InvalidValue(field, GoQuote(text), "compilation failed: " + program.error().message));
  } else if (type != cel::Value::Type::kNull && program->ResultType() &&
             *program->ResultType() != type) {
    out.push_back(InvalidValue(field, GoQuote(text), std::string("must evaluate to ") + type_name));
  }
}

}  // namespace

FieldErrors ValidatePolicy(const Json& policy) {
  using Type = cel::Value::Type;
  FieldErrors out;
  const auto each = [&](const char* list, auto check) {
    size_t i = 0;
    for (const Json& item : Items(policy, list))
      check(item, std::string(list) + "[" + std::to_string(i++) + "]");
  };
  each("spec.matchConditions", [&](const Json& c, const std::string& path) {
    if (Text(c, "name").empty()) out.push_back(Required(path + ".name", ""));
    CheckExpression(out, c, "expression", path, Type::kBool, "bool");
  });
  each("spec.variables", [&](const Json& v, const std::string& path) {
    if (Text(v, "name").empty()) out.push_back(Required(path + ".name", "name is not specified"));
    CheckExpression(out, v, "expression", path, Type::kNull, "");
  });
  if (Items(policy, "spec.validations").empty() && Items(policy, "spec.auditAnnotations").empty())
    out.push_back(Required("spec.validations",
                           "validations or auditAnnotations must contain at least one item"));
  each("spec.validations", [&](const Json& v, const std::string& path) {
    CheckExpression(out, v, "expression", path, Type::kBool, "bool");
    if (!Text(v, "messageExpression").empty())
      CheckExpression(out, v, "messageExpression", path, Type::kString, "string");
    const std::string reason(Text(v, "reason"));
    if (!reason.empty() && reason != "Unauthorized" && reason != "Forbidden" &&
        reason != "Invalid" && reason != "RequestEntityTooLarge")
      out.push_back(
          NotSupported(path + ".reason", GoQuote(reason),
                       {"Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"}));
  });
  return out;
}

}  // namespace kcm::devcluster::kinds
