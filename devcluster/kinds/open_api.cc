// SPDX-License-Identifier: Apache-2.0
// Messages become schemas (open_api.h).
#include "devcluster/kinds/open_api.h"

#include <algorithm>
#include <set>
#include <vector>

#include "devcluster/kinds/merge_keys.h"
#include "devcluster/kinds/resource_table.h"

namespace kcm::devcluster::kinds {

namespace {

struct Described {
  std::string_view name, text;
};

// Kinds, by message, and members, by name: in our words.
constexpr Described kKinds[] = {
#include "devcluster/kinds/kind_texts.inc"
};
constexpr Described kMembers[] = {
#include "devcluster/kinds/member_texts.inc"
};

template <size_t n>
std::string_view TextOf(const Described (&table)[n], std::string_view name) {
  const auto* it = std::find_if(std::begin(table), std::end(table),
                                [&](const Described& d) { return d.name == name; });
  return it == std::end(table) ? std::string_view() : it->text;
}

// "core.v1.PodSpec" -> "io.k8s.api.core.v1.PodSpec", the names that clients know.
std::string PublicName(std::string_view message) {
  static constexpr std::pair<std::string_view, std::string_view> kPackages[] = {
      {"meta.", "io.k8s.apimachinery.pkg.apis.meta."},
      {"api.resource.", "io.k8s.apimachinery.pkg.api.resource."},
      {"util.intstr.", "io.k8s.apimachinery.pkg.util.intstr."},
      {"runtime.", "io.k8s.apimachinery.pkg.runtime."},
      {"apiextensions.", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."},
      {"apiregistration.", "io.k8s.kube-aggregator.pkg.apis.apiregistration."}};
  for (const auto& [package, name] : kPackages) {
    if (message.starts_with(package))
      return std::string(name).append(message.substr(package.size()));
  }
  return std::string("io.k8s.api.").append(message);
}

class Writer {
 public:
  explicit Writer(const Schema& schema) : schema_(schema) {}

  void Add(const Message* message) {
    if (message == nullptr || !seen_.insert(message).second) return;
    todo_.push_back(message);
  }

  void AddKind(const KindRow& row) {
    const Message* message = schema_.Find(row.message);
    Add(message);
    if (message == nullptr) return;
    Json& types = kinds_of_[message];
    types.push_back({{"group", row.group}, {"kind", row.kind}, {"version", row.version}});
  }

  Json Run() {
    Json out = Json::object();
    while (!todo_.empty()) {
      const Message* message = todo_.back();
      todo_.pop_back();
      out[PublicName(message->name)] = Describe(*message);
    }
    return out;
  }

 private:
  Json Describe(const Message& message) {
    Json out = Form(message);
    if (const std::string_view text = TextOf(kKinds, message.name); !text.empty())
      out["description"] = text;
    if (const auto it = kinds_of_.find(&message); it != kinds_of_.end())
      out["x-kubernetes-group-version-kind"] = it->second;
    return out;
  }

  Json Form(const Message& message) {
    using Form = Message::Form;
    switch (message.form) {
      case Form::kTime:
      case Form::kMicroTime:
        return {{"type", "string"}, {"format", "date-time"}};
      case Form::kQuantity:
        return {{"oneOf", Json::array({{{"type", "string"}}, {{"type", "number"}}})}};
      case Form::kIntOrString:
        return {{"format", "int-or-string"},
                {"oneOf", Json::array({{{"type", "integer"}}, {{"type", "string"}}})}};
      case Form::kDuration:
        return {{"type", "string"}};
      case Form::kList:
        return {{"type", "array"}, {"items", {{"type", "string"}}}};
      case Form::kRaw:
        return {{"type", "object"}};
      case Form::kSchemaOr:
        return Json::object();
      case Form::kPlain:
        break;
    }
    Json properties = Json::object(), required = Json::array();
    if (message.typed) {
      for (const char* name : {"apiVersion", "kind"})
        properties[name] = {{"type", "string"}, {"description", TextOf(kMembers, name)}};
    }
    for (const Field& f : message.fields) {
      if (f.name.empty()) continue;
      properties[f.name] = Property(message, f);
      if (!f.omitempty && !f.omitzero) required.push_back(f.name);
    }
    Json out = {{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) out["required"] = std::move(required);
    return out;
  }

  Json Property(const Message& owner, const Field& f) {
    Json value = Value(f);
    if (f.map) value = {{"type", "object"}, {"additionalProperties", std::move(value)}};
    if (f.repeated) {
      value = {{"type", "array"}, {"items", std::move(value)}};
      const KindRegistry::ListKey key = MergeKeyAt(owner, f.name);
      if (key.key == "$set") {
        value["x-kubernetes-list-type"] = "set";
      } else {
        value["x-kubernetes-list-type"] = key.key.empty() ? "atomic" : "map";
        if (!key.key.empty()) value["x-kubernetes-list-map-keys"] = Json::array({key.key});
      }
    }
    std::string_view text = TextOf(kMembers, std::string(owner.go_name) + "." + f.name);
    if (text.empty()) text = TextOf(kMembers, f.name);
    if (!text.empty()) value["description"] = text;
    return value;
  }

  Json Value(const Field& f) {
    using Type = Field::Type;
    switch (f.type) {
      case Type::kString:
        return {{"type", "string"}};
      case Type::kInt32:
        return {{"type", "integer"}, {"format", "int32"}};
      case Type::kInt64:
        return {{"type", "integer"}, {"format", "int64"}};
      case Type::kBool:
        return {{"type", "boolean"}};
      case Type::kBytes:
        return {{"type", "string"}, {"format", "byte"}};
      case Type::kDouble:
        return {{"type", "number"}, {"format", "double"}};
      case Type::kMessage:
        break;
    }
    if (f.message == nullptr) return Json::object();
    Add(f.message);
    return {{"allOf",
             Json::array({{{"$ref", "#/components/schemas/" + PublicName(f.message->name)}}})}};
  }

  const Schema& schema_;
  std::set<const Message*> seen_;
  std::vector<const Message*> todo_;
  std::map<const Message*, Json> kinds_of_;
};

}  // namespace

Json OpenApiSchemas(std::span<const Gvr> kinds) {
  static const Schema* const kSchema = new Schema();  // never freed: no destructor runs at exit
  Writer writer(*kSchema);
  writer.Add(kSchema->Find("meta.v1.ObjectMeta"));
  for (const KindRow& row : KindRows()) {
    const bool wanted = std::any_of(kinds.begin(), kinds.end(), [&](const Gvr& gvr) {
      return gvr.resource == row.resource && gvr.group == row.group && gvr.version == row.version;
    });
    if (wanted) writer.AddKind(row);
  }
  return writer.Run();
}

}  // namespace kcm::devcluster::kinds
