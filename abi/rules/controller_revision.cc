// SPDX-License-Identifier: Apache-2.0
// Canonical revision data; order and choice in a history.
#include "kcm/rules/controller_revision.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kcm/rules/equality.h"
#include "kcm/rules/hash.h"
#include "kcm/rules/json_text.h"
#include "kcm/rules/pod_template_defaults.h"
#include "kcm/rules/time.h"

namespace kcm::rules {
namespace {

// Room for a dash and a hash in a name of 253.
constexpr size_t kMostOfOwnerName = 223;

// `{"a":"b",...}` of a map of texts, with one more entry unless its name is empty.
void AppendTexts(std::string& out, Node map, std::string_view more, std::string_view value) {
  out += '{';
  bool first = true;
  const auto add = [&](std::string_view name, std::string_view text) {
    if (!first) out += ',';
    first = false;
    AppendJsonString(out, name);
    out += ':';
    AppendJsonString(out, text);
  };
  for (const auto& [name, text] : map.Entries()) {
    if (name != more) add(name, text.String());
  }
  if (!more.empty()) add(more, value);
  out += '}';
}

}  // namespace

std::string RevisionData(Node pod_template) {
  std::vector<std::pair<std::string_view, Node>> members;
  for (const auto& entry : pod_template.Entries()) {
    if (entry.first != "$patch") members.push_back(entry);
  }
  std::sort(members.begin(), members.end(),
            [](const auto& x, const auto& y) { return x.first < y.first; });
  // `$` sorts before every character that begins a field name.
  std::string out = R"({"spec":{"template":{"$patch":"replace")";
  for (const auto& [name, value] : members) {
    out += ',';
    AppendJsonString(out, name);
    out += ':';
    AppendJson(out, value, JsonForm::kCanonical);
  }
  return out + "}}}";
}

std::string RevisionHash(std::string_view data, std::optional<int64_t> collision_count) {
  uint32_t h = Fnv1(data);
  if (collision_count) h = Fnv1(std::to_string(*collision_count), h);
  return EncodeHash(h);
}

bool RevisionDataEqual(Node x, Node y) { return SemanticEqual(x, y); }

bool RevisionRestores(Node older, Node newer) {
  return SemanticEqualBut(older, newer, IsPodTemplateDefault);
}

std::string RevisionName(std::string_view owner, std::string_view hash) {
  return std::string(owner.substr(0, kMostOfOwnerName)) + "-" + std::string(hash);
}

Node RevisionTemplate(Node revision) {
  const Node found = revision.Path("data.spec.template");
  return found.kind() == Kind::kObject ? found : Node();
}

std::string RevisionBody(const NewRevision& fresh) {
  std::string out = R"({"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":)";
  AppendJsonString(out, fresh.name);
  out += ",\"namespace\":";
  AppendJsonString(out, fresh.ns);
  out += ",\"labels\":";
  AppendTexts(out, fresh.labels, fresh.hash_label, fresh.hash);
  if (!fresh.annotations.empty()) {
    out += ",\"annotations\":";
    AppendTexts(out, fresh.annotations, {}, {});
  }
  out += ",\"ownerReferences\":[" + OwnerReferenceJson(fresh.owner) + "]}";
  out += ",\"data\":";
  out += fresh.data;
  out += ",\"revision\":";
  AppendJsonInt(out, fresh.revision);
  return out + "}";
}

bool RevisionBefore(Node x, Node y) {
  const int64_t a = x.Get("revision").Int(), b = y.Get("revision").Int();
  if (a != b) return a < b;
  const Node mx = x.Get("metadata"), my = y.Get("metadata");
  const std::optional<WallTime> created_x = TimeOf(mx.Get("creationTimestamp"));
  const std::optional<WallTime> created_y = TimeOf(my.Get("creationTimestamp"));
  if (created_x != created_y) return created_x < created_y;
  return mx.Get("name").String() < my.Get("name").String();
}

int64_t NextRevision(std::span<const Node> history) {
  return history.empty() ? 1 : history.back().Get("revision").Int() + 1;
}

RevisionChoice ChooseRevision(std::span<const Node> history, Node data, bool by_defaults) {
  using Type = RevisionChoice::Type;
  for (size_t i = history.size(); i-- > 0;) {
    if (!RevisionDataEqual(history[i].Get("data"), data)) continue;
    return {.type = i + 1 == history.size() ? Type::kKeep : Type::kRenumber, .place = i};
  }
  if (by_defaults && !history.empty() && RevisionRestores(history.back().Get("data"), data))
    return {.type = Type::kKeep, .place = history.size() - 1};
  return {};
}

std::vector<size_t> RevisionsToDelete(std::span<const Node> history,
                                      const std::function<bool(std::string_view name)>& is_live,
                                      int64_t limit) {
  std::vector<size_t> idle;
  if (limit < 0) return idle;
  for (size_t i = 0; i < history.size(); ++i) {
    if (!is_live(history[i].Path("metadata.name").String())) idle.push_back(i);
  }
  if (static_cast<int64_t>(idle.size()) <= limit) return {};
  idle.resize(idle.size() - static_cast<size_t>(limit));
  return idle;
}

}  // namespace kcm::rules
