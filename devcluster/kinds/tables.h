// SPDX-License-Identifier: Apache-2.0
// Tables that `kubectl get` shows: columns and cells by kind (spec K).
#pragma once
#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// Sets columns, table_cells and table_row_conditions. Kinds without a printer get Name and Age.
void BindTable(ResourceKind& kind);

using Cells = Json (*)(const Json& object, std::string_view now);
struct Printer {
  std::string_view group, resource;
  // Columns but Name, which comes first: `Title[:i|:b|:d][*]` separated by `|`; i integer, b
  // boolean, d date, * wide only. A title `!Name` stands for a Name column that does not come
  // first.
  std::string_view columns;
  Cells cells;  // all cells, Name included
};

// tables_pod.cc
Json PodCells(const Json& object, std::string_view now);
Json PodConditions(const Json& object);
// tables_workloads.cc
const Printer* WorkloadPrinter(const Gvr& gvr);
// tables_cluster.cc
const Printer* ClusterPrinter(const Gvr& gvr);

// ---- cell texts ----
std::string_view NameOf(const Json& object);  // lives as long as the object
std::string AgeOf(const Json& object, std::string_view now);
std::string OrNone(std::string text);                  // `<none>` when empty
std::string LabelsText(const Json* labels);            // a=b,c=d, `<none>`
std::string SelectorText(const Json* label_selector);  // text form, `<none>`
std::string ContainerNames(const Json& pod_spec);
std::string ContainerImages(const Json& pod_spec);
std::string ShortModes(const Json& modes);  // RWO,ROX

}  // namespace kcm::devcluster::kinds
