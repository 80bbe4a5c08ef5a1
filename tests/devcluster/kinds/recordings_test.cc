// SPDX-License-Identifier: Apache-2.0
// Recorded exchanges of a real API server, replayed against the kinds: one test a file, one failure
// a step. The recordings are excerpts: method, resource, body, status, warnings and answer without
// managed fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "build_paths.h"
#include "devcluster/kinds/cluster_of_kinds.h"

namespace kcm::devcluster::kinds {
namespace {

// Values that differ between runs become the same word on both sides.
class Normaliser {
 public:
  Json Of(const Json& value, const std::string& key = "") const {
    if (value.is_string()) return Text(value.get<std::string>(), key);
    if (value.is_array()) {
      Json out = Json::array();
      for (const Json& item : value) out.push_back(Of(item, key));
      return out;
    }
    if (!value.is_object()) return Number(value, key);
    Json out = Json::object();
    for (const auto& [name, member] : value.items()) {
      if (name == "managedFields" || name == "authentication.kubernetes.io/credential-id") continue;
      out[name] = Of(member, name);
    }
    const std::string prefix = out.value("generateName", "");
    if (!prefix.empty() && out.contains("name")) out["name"] = prefix + "<gen>";
    return out;
  }

 private:
  static Json Number(const Json& value, const std::string& key) {
    const bool port = key == "nodePort" || key == "healthCheckNodePort";
    return port && value.is_number_integer() && value >= 30000 && value <= 32767 ? Json("<port>")
                                                                                 : value;
  }
  Json Text(std::string text, const std::string& key) const {
    if (key == "resourceVersion") return "<version>";
    if (key == "clusterIP" || key == "clusterIPs" || key == "cells")
      text = std::regex_replace(text, address_, "<address>");
    if (key == "cells") text = std::regex_replace(text, node_port_, ":<port>/");
    if (text.ends_with("-xxxxx")) return "<uid>";
    text = std::regex_replace(text, uid_, "<uid>");
    text = std::regex_replace(text, captured_, "<uid>");
    text = std::regex_replace(text, time_, "<time>");
    text = std::regex_replace(text, generated_, "$1<gen>");
    return std::regex_replace(text, age_, "<age>");
  }
  std::regex uid_{"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"};
  std::regex captured_{"\\$\\{[a-z0-9]+\\}"};
  std::regex time_{"20(2[4-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"};
  std::regex generated_{"(kube-api-access-|Bad_)[a-z0-9]{5}"};
  std::regex address_{"10\\.96\\.[0-9]+\\.[0-9]+"};
  std::regex node_port_{":3[0-2][0-9]{3}/"};
  std::regex age_{"^([0-9]+[smhdy]){1,2}$"};
};

bool Contains(const Json& whole, const Json& part) {
  if (part.is_object() && whole.is_object()) {
    for (const auto& [name, value] : part.items()) {
      if (!whole.contains(name) || !Contains(whole[name], value)) return false;
    }
    return true;
  }
  if (part.is_array() && whole.is_array()) {
    for (const Json& item : part) {
      if (std::none_of(whole.begin(), whole.end(),
                       [&](const Json& w) { return Contains(w, item); }))
        return false;
    }
    return true;
  }
  return whole == part;
}

Json TableOf(const ClusterOfKinds& cluster, const ResourceKind& kind, const Json& step) {
  Json table = {{"kind", "Table"}, {"columns", Json::array()}, {"rows", Json::array()}};
  for (const Column& c : kind.columns)
    table["columns"].push_back({c.name, c.type, c.format, c.priority});
  const std::string name = step.value("name", ""), query = step.value("query", "");
  const size_t label = query.find("golden%3D");
  for (const Json& object : cluster.List(kind.gvr, step.value("ns", ""))) {
    const Json labels = object["metadata"].value("labels", Json::object());
    if (!name.empty() && object["metadata"]["name"] != name) continue;
    if (label != std::string::npos && labels.value("golden", "") != query.substr(label + 9))
      continue;
    Json row = {{"cells", kind.table_cells(object, cluster.now)}};
    const Json conditions = kind.table_row_conditions ? kind.table_row_conditions(object) : Json();
    if (!conditions.is_null()) row["conditions"] = conditions;
    table["rows"].push_back(row);
  }
  return table;
}

ClusterOfKinds::Outcome Exchange(ClusterOfKinds& cluster, const Gvr& gvr, const Json& step) {
  const std::string method = step["method"], ns = step["ns"], name = step["name"],
                    sub = step["sub"];
  const ResourceKind& kind = *cluster.Kind(gvr);
  const Json body = step.value("body", Json());
  if (method == "POST")
    return cluster.Create(gvr, ns, body,
                          step.value("query", "").find("dryRun") != std::string::npos);
  if (method == "DELETE") return cluster.Delete(gvr, ns, name);
  if (method == "GET" && step.value("table", false)) return {200, TableOf(cluster, kind, step), {}};
  if (method == "GET") {
    const std::optional<Json> object = cluster.Get(gvr, ns, name);
    if (object) return {200, *object, {}};
    return {404, ToStatus(NotFound(gvr, name)), {}};
  }
  using Type = ClusterOfKinds::PatchType;
  const std::string type = step.value("type", "");
  return cluster.Update(gvr, ns, name, sub, body,
                        method == "PUT"                   ? Type::kPut
                        : type == "strategic-merge-patch" ? Type::kStrategic
                                                          : Type::kMerge);
}

// Steps that belong to the server, not to the kinds: deletion procedure, custom resources, messages
// with dumps of patches.
bool IsServers(const Json& step, const ResourceKind* kind) {
  if (kind == nullptr || !kind->prepare_create) return true;
  const std::string method = step["method"], sub = step["sub"];
  if (method == "POST" && !sub.empty()) return true;
  if (method == "GET" && step["name"] == "" && !step.value("table", false)) return true;
  return step.value("query", "").find("include") != std::string::npos ||
         step.value("query", "").find("fieldSelector") != std::string::npos;
}

class Recordings : public testing::TestWithParam<const char*> {};

TEST_P(Recordings, AreAnsweredAlike) {
  const std::string path =
      std::string(KCM_SOURCE_DIR) + "/tests/devcluster/kinds/recordings/" + GetParam() + ".jsonl";
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  ClusterOfKinds cluster;
  const Normaliser normal;
  int steps = 0;
  for (std::string line; std::getline(file, line);) {
    Json step = Json::parse(line);
    if (step["resource"] == "finalize") {  // the path has the form of a namespaced resource
      step.update({{"resource", "namespaces"}, {"sub", "finalize"}, {"name", step["ns"]}});
      step["ns"] = "";
    }
    const Gvr gvr{step["group"], step["version"], step["resource"]};
    if (IsServers(step, cluster.Kind(gvr))) continue;
    SCOPED_TRACE(step["id"].get<std::string>() + " " + step["method"].get<std::string>() + " " +
                 gvr.resource);
    const ClusterOfKinds::Outcome got = Exchange(cluster, gvr, step);
    ++steps;
    cluster.now = "2026-11-30T00:" + std::to_string(10 + steps / 60) + ":" +
                  std::to_string(10 + steps % 50) + "Z";
    EXPECT_EQ(got.status, step["status"]) << got.body.dump();
    if (step["method"] == "DELETE" && step["status"] == 200) continue;
    std::vector<std::string> warnings;
    for (const Json& w : step.value("warnings", Json::array())) {
      if (gvr.resource != "endpoints") warnings.push_back(w);  // the server's, on every verb
    }
    std::vector<std::string> shown;
    for (const std::string& w : got.warnings) shown.push_back("299 - " + GoQuote(w));
    EXPECT_EQ(shown, warnings);
    if (!step.contains("want")) continue;
    const Json want = normal.Of(step["want"]), have = normal.Of(got.body);
    if (step.value("subset", false)) {
      EXPECT_TRUE(Contains(have, want)) << "want " << want.dump() << "\nhave " << have.dump();
    } else {
      EXPECT_EQ(have, want) << Json::diff(want, have).dump();
    }
  }
  EXPECT_GT(steps, 0);
}

INSTANTIATE_TEST_SUITE_P(Api, Recordings,
                         testing::Values("b-01", "b-02", "b-03", "b-04", "b-05", "b-06", "b-07",
                                         "b-08", "b-09", "b-11", "b-12", "c-02", "c-03", "c-04",
                                         "c-06", "d-05", "d-06", "h-01", "i-01", "i-02", "i-03",
                                         "i-04", "i-05"),
                         [](const auto& row) {
                           std::string name = row.param;
                           name[1] = '_';
                           return name;
                         });

}  // namespace
}  // namespace kcm::devcluster::kinds
