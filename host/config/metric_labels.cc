// SPDX-License-Identifier: Apache-2.0
// Reads the label lists.
#include "host/config/metric_labels.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "host/file/regular_file.h"

namespace kcm::host::config {
namespace {

// `v1,v2`, also with the single quotes that the documentation shows around it.
std::vector<std::string> SplitValues(std::string text) {
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
    text = text.substr(1, text.size() - 2);
  std::vector<std::string> values;
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    values.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return values;
}

Result<StringPairs> ReadManifest(const std::string& path) {
  const Result<std::string> text = file::ReadRegularFile(path);
  if (!text.ok()) {
    return MakeError(text.code(),
                     "failed to read allow metric labels manifest: " + text.error().message);
  }
  StringPairs pairs;
  try {
    const YAML::Node root = YAML::Load(*text);
    if (!root.IsMap()) {
      return MakeError(Code::kInvalid,
                       "failed to parse allow metric labels manifest " + path + ": want a map");
    }
    for (const auto& entry : root)
      pairs.emplace_back(entry.first.as<std::string>(), entry.second.as<std::string>());
  } catch (const std::exception& e) {
    return MakeError(Code::kInvalid,
                     "failed to parse allow metric labels manifest " + path + ": " + e.what());
  }
  return pairs;
}

}  // namespace

Result<std::vector<MetricsOptions::LabelValues>> AllowedMetricLabels(
    const StringPairs& pairs, const std::string& manifest_path) {
  StringPairs all = pairs;
  if (!manifest_path.empty()) {
    Result<StringPairs> manifest = ReadManifest(manifest_path);
    if (!manifest.ok()) return manifest.error();
    all.insert(all.end(), manifest->begin(), manifest->end());
  }
  std::vector<MetricsOptions::LabelValues> out;
  std::set<std::string> seen;
  for (const auto& [key, value] : all) {
    const size_t comma = key.find(',');
    if (comma == key.npos || !seen.insert(key).second) continue;
    out.push_back({key.substr(0, comma), key.substr(comma + 1), SplitValues(value)});
  }
  return out;
}

}  // namespace kcm::host::config
