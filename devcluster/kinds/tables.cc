// SPDX-License-Identifier: Apache-2.0
// Columns from their short form, and the cell texts kinds share.
#include "devcluster/kinds/tables.h"

#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/times.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/label_selector.h"

namespace kcm::devcluster::kinds {

namespace {

Column NameColumn() {
  return {"Name", "string", "name",
          "Name must be unique within a namespace. Is required when creating resources, although "
          "some resources may allow a "
          "client to request the generation of an appropriate name automatically.",
          0};
}

std::vector<Column> Columns(std::string_view text) {
  std::vector<Column> out;
  if (text.find("!Name") == std::string_view::npos) out.push_back(NameColumn());
  while (!text.empty()) {
    const size_t bar = text.find('|');
    std::string_view title = text.substr(0, bar);
    text.remove_prefix(bar == std::string_view::npos ? text.size() : bar + 1);
    Column c;
    if (title.ends_with('*')) {
      c.priority = 1;
      title.remove_suffix(1);
    }
    c.type = "string";
    if (title.size() > 2 && title[title.size() - 2] == ':') {
      c.type = title.back() == 'i' ? "integer" : title.back() == 'b' ? "boolean" : "date";
      title.remove_suffix(2);
    }
    if (title == "!Name") {
      const int priority = c.priority;
      c = NameColumn();
      c.priority = priority;
    } else {
      c.name = title;
      c.description = title;
    }
    out.push_back(std::move(c));
  }
  return out;
}

Json NameAndAge(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), AgeOf(o, now)});
}

constexpr Printer kDefault{"", "", "Age", NameAndAge};

}  // namespace

void BindTable(ResourceKind& kind) {
  static constexpr Printer kPods{
      "", "pods", "Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*", PodCells};
  const Printer* printer = WorkloadPrinter(kind.gvr);
  if (printer == nullptr) printer = ClusterPrinter(kind.gvr);
  if (kind.gvr.resource == "pods" && kind.gvr.group.empty()) {
    printer = &kPods;
    kind.table_row_conditions = PodConditions;
  }
  if (printer == nullptr) printer = &kDefault;
  kind.columns = Columns(printer->columns);
  kind.table_cells = printer->cells;
}

std::string_view NameOf(const Json& o) { return Text(o, "metadata.name"); }

std::string AgeOf(const Json& o, std::string_view now) {
  return Age(Text(o, "metadata.creationTimestamp"), now);
}

std::string OrNone(std::string text) { return text.empty() ? "<none>" : text; }

std::string LabelsText(const Json* labels) {
  std::string out;
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      out += (out.empty() ? "" : ",") + key + "=" +
             (value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return OrNone(out);
}

std::string SelectorText(const Json* selector) {
  if (selector == nullptr) return "<none>";
  const auto compiled = rules::LabelSelector::FromObject(rules::JsonNode(*selector));
  if (!compiled.ok()) return "<error>";
  return OrNone(compiled->Text());
}

namespace {
std::string Joined(const Json& list, const char* member) {
  std::string out;
  for (const Json& item : list) out += (out.empty() ? "" : ",") + std::string(Text(item, member));
  return out;
}
}  // namespace

std::string ContainerNames(const Json& spec) { return Joined(Items(spec, "containers"), "name"); }
std::string ContainerImages(const Json& spec) { return Joined(Items(spec, "containers"), "image"); }

std::string ShortModes(const Json& modes) {
  std::string out;
  for (const auto& [name, brief] :
       {std::pair{"ReadWriteOnce", "RWO"}, std::pair{"ReadOnlyMany", "ROX"},
        std::pair{"ReadWriteMany", "RWX"}, std::pair{"ReadWriteOncePod", "RWOP"}}) {
    for (const Json& mode : modes) {
      if (mode != name) continue;
      out += (out.empty() ? "" : ",") + std::string(brief);
      break;
    }
  }
  return out;
}

}  // namespace kcm::devcluster::kinds
