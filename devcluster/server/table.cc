// SPDX-License-Identifier: Apache-2.0
// Tables (table.h).
#include "devcluster/server/table.h"

#include "devcluster/kinds/wire_forms.h"
#include "devcluster/server/convert.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;
using host::wire::TypeMeta;

IncludeObject IncludeObjectOf(const Request& request) {
  const std::string v = request.query.Get("includeObject");
  if (v.empty() || v == "Metadata") return IncludeObject::kMetadata;
  if (v == "Object") return IncludeObject::kObject;
  if (v == "None") return IncludeObject::kNone;
  Fail(BadRequest("Unable to convert to Table as requested: includeObject: Invalid value: " +
                  GoQuote(v) + ": must be 'Metadata', 'Object', 'None', or empty"));
}

std::string TableHead(const Resource& resource, const Media& media, const Json& metadata,
                      bool columns) {
  std::string out = "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/" + media.version +
                    "\",\"metadata\":" + Dump(metadata) + ",\"columnDefinitions\":";
  if (!columns) return out + "null,\"rows\":";
  Json list = Json::array();
  const auto add = [&](const Column& c) {
    list.push_back({{"name", c.name},
                    {"type", c.type},
                    {"format", c.format},
                    {"description", c.description},
                    {"priority", c.priority}});
  };
  for (const Column& c : resource.kind->columns) add(c);
  if (resource.kind->columns.empty()) {
    add({"Name", "string", "name", "Name must be unique within a namespace.", 0});
    add({"Created At", "date", "",
         "CreationTimestamp is the time at which this object was created.", 0});
  }
  return out + Dump(list) + ",\"rows\":";
}

std::string TableRow(const State& state, const Resource& resource, const host::wire::Object& object,
                     IncludeObject include, const Media& media) {
  const Json json = Editable(object, resource.type);
  Json cells = resource.kind->table_cells
                   ? resource.kind->table_cells(json, FormatSeconds(state.clock->Now()))
                   : Json::array({TextAt(json, {"metadata", "name"}),
                                  TextAt(json, {"metadata", "creationTimestamp"})});
  std::string out = "{\"cells\":" + Dump(cells);
  if (resource.kind->table_row_conditions) {
    const Json conditions = resource.kind->table_row_conditions(json);
    if (conditions.is_array() && !conditions.empty()) out += ",\"conditions\":" + Dump(conditions);
  }
  if (include == IncludeObject::kObject) {
    out += ",\"object\":";
    host::wire::EncodeJson(object.Root(), &resource.type, &out);
  } else if (include == IncludeObject::kMetadata) {
    const std::string hidden(kinds::HiddenInRows(resource.gvr()));
    ObjectPtr partial = host::wire::MetadataOnly(object);
    if (!hidden.empty() && Find(json, {"metadata", "annotations", hidden.c_str()}) != nullptr) {
      Json shown = Editable(*partial, resource.type);
      Json& annotations = shown["metadata"]["annotations"];
      annotations.erase(hidden);
      if (annotations.empty()) shown["metadata"].erase("annotations");
      partial = ToFlat(shown);
    }
    const TypeMeta type{"meta.k8s.io/" + media.version, "PartialObjectMetadata"};
    out += ",\"object\":";
    host::wire::EncodeJson(partial->Root(), &type, &out);
  }
  if (include == IncludeObject::kNone) out += ",\"object\":null";
  return out + "}";
}

std::string TableOfOne(const State& state, const Request& request, const Resource& resource,
                       const host::wire::Object& object, const Media& media, bool columns) {
  const Json metadata = {{"resourceVersion", std::string(object.ResourceVersionText())}};
  return TableHead(resource, media, metadata, columns) + "[" +
         TableRow(state, resource, object, IncludeObjectOf(request), media) + "]}\n";
}

}  // namespace kcm::devcluster
