// SPDX-License-Identifier: Apache-2.0
// managedFields (managed_fields.h).
#include "devcluster/server/managed_fields.h"

#include <algorithm>

#include "devcluster/api/api_error.h"
#include "devcluster/server/convert.h"

namespace kcm::devcluster {
namespace {

constexpr size_t kMaxUpdateEntries = 10;
constexpr const char* kAncient = "ancient-changes";

struct Entry {
  std::string manager, operation, api_version, time, subresource;
  FieldSet fields;
};

std::vector<Entry> Read(const Json& object) {
  std::vector<Entry> out;
  const Json* list = Find(object, {"metadata", "managedFields"});
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& j : *list) {
    if (!j.is_object() || j.empty()) continue;
    Entry e;
    e.manager = TextAt(j, {"manager"});
    e.operation = TextAt(j, {"operation"});
    e.api_version = TextAt(j, {"apiVersion"});
    e.time = TextAt(j, {"time"});
    e.subresource = TextAt(j, {"subresource"});
    if (const Json* fields = Find(j, {"fieldsV1"})) e.fields = FieldSet::Parse(*fields);
    out.push_back(std::move(e));
  }
  return out;
}

// An apply entry that owns nothing is kept only as long as it owns nothing by its own choice (`{}`
// was applied).
Json ToJsonList(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
    if (x.operation != y.operation) return x.operation == "Apply";
    if (x.time != y.time) return x.time < y.time;
    return x.manager < y.manager;
  });
  Json list = Json::array();
  for (const Entry& e : entries) {
    Json j = {{"manager", e.manager},
              {"operation", e.operation},
              {"apiVersion", e.api_version},
              {"fieldsType", "FieldsV1"},
              {"fieldsV1", e.fields.ToFieldsV1()}};
    if (!e.time.empty()) j["time"] = e.time;
    if (!e.subresource.empty()) j["subresource"] = e.subresource;
    list.push_back(std::move(j));
  }
  return list;
}

void Write(std::vector<Entry> entries, Json* object) {
  std::erase_if(entries, [](const Entry& e) { return e.fields.empty(); });
  Json& metadata = (*object)["metadata"];
  if (entries.empty()) {
    metadata.erase("managedFields");
  } else {
    metadata["managedFields"] = ToJsonList(std::move(entries));
  }
}

Entry* FindEntry(std::vector<Entry>* entries, const FieldManager& m, const char* operation) {
  for (Entry& e : *entries) {
    if (e.manager == m.name && e.operation == operation && e.subresource == m.subresource &&
        (e.api_version == m.api_version || e.operation == "Apply")) {
      return &e;
    }
  }
  return nullptr;
}

// Old small changes of many managers become one entry.
void CapUpdates(std::vector<Entry>* entries) {
  const auto is_update = [](const Entry& e) { return e.operation == "Update"; };
  while (static_cast<size_t>(std::count_if(entries->begin(), entries->end(), is_update)) >
         kMaxUpdateEntries) {
    std::vector<Entry*> updates;
    for (Entry& e : *entries) {
      if (is_update(e)) updates.push_back(&e);
    }
    std::stable_sort(updates.begin(), updates.end(), [](const Entry* x, const Entry* y) {
      if ((x->manager == kAncient) != (y->manager == kAncient)) return x->manager == kAncient;
      return x->time < y->time;
    });
    Entry& into = *updates[0];
    const Entry& from = *updates[1];
    into.manager = kAncient;
    into.subresource.clear();
    into.time = from.time;
    into.fields.Union(from.fields);
    entries->erase(entries->begin() + (&from - entries->data()));
  }
}

Json Relevant(Json object, bool has_status, const std::string& subresource) {
  object.erase("kind");
  object.erase("apiVersion");
  if (!has_status) return object;
  if (subresource == "status") {
    Json out = Json::object();
    for (const char* member : {"metadata", "status"}) {
      if (object.contains(member)) out[member] = std::move(object[member]);
    }
    return out;
  }
  object.erase("status");
  return object;
}

bool IsReset(const Json& managed) {
  return managed.is_array() && managed.size() == 1 && managed[0].is_object() && managed[0].empty();
}

}  // namespace

void TrackWrite(const Json& before, bool create, bool has_status, const FieldManager& manager,
                const FieldShapes& shapes, Json* after) {
  Json& metadata = (*after)["metadata"];
  const Json given = metadata.value("managedFields", Json());
  if (IsReset(given)) {
    metadata.erase("managedFields");
    return;
  }
  if (!given.is_array() || given.empty()) {
    metadata.erase("managedFields");
    const Json* live = Find(before, {"metadata", "managedFields"});
    if (!create && live != nullptr) metadata["managedFields"] = *live;
  }
  std::vector<Entry> entries = create ? std::vector<Entry>() : Read(*after);
  if (!create && entries.empty()) return;
  const FieldDifference d = Compare(Relevant(before, has_status, manager.subresource),
                                    Relevant(*after, has_status, manager.subresource), shapes);
  if (d.changed.empty() && d.removed.empty()) return;
  Entry* own = FindEntry(&entries, manager, "Update");
  for (Entry& e : entries) {
    if (&e != own) e.fields.Subtract(d.changed);
    e.fields.Subtract(d.removed);
  }
  if (!d.changed.empty()) {
    if (own == nullptr) {
      entries.push_back({manager.name, "Update", manager.api_version, "", manager.subresource, {}});
      own = &entries.back();
    }
    own->fields.Union(d.changed);
    // A write through scale leaves no time, as recorded.
    own->time = manager.subresource == "scale" ? "" : manager.now;
  }
  CapUpdates(&entries);
  Write(std::move(entries), after);
}

Json FirstApply(const Json& configuration, const FieldManager& manager, const FieldShapes& shapes) {
  return ToJsonList({{manager.name, "Apply", manager.api_version, manager.now, manager.subresource,
                      FieldsOf(configuration, shapes)}});
}

namespace {

std::string OwnerText(const Entry& e) {
  std::string text = GoQuote(e.manager);
  if (!e.subresource.empty()) text += " with subresource " + GoQuote(e.subresource);
  if (e.operation == "Update") text += " using " + e.api_version;
  return text;
}

}  // namespace

Applied ApplyConfiguration(const Json& live, const Json& configuration, const Json& empty,
                           bool force, const FieldManager& manager, const FieldShapes& shapes,
                           const std::function<void(Json*)>& complete) {
  std::vector<Entry> entries = Read(live);
  if (entries.empty()) {
    // Everything that exists was made by someone before the first apply.
    const FieldDifference d = Compare(empty, live, shapes);
    entries.push_back(
        {"before-first-apply", "Update", manager.api_version, manager.now, "", d.changed});
  }
  Applied out;
  out.object = MergeApplied(live, configuration, shapes);
  const FieldSet wanted = FieldsOf(configuration, shapes);
  Entry* own = FindEntry(&entries, manager, "Apply");
  const FieldSet had = own != nullptr ? own->fields : FieldSet();
  FieldSet gone = had;
  gone.Subtract(wanted);
  FieldSet kept = wanted;
  for (const Entry& e : entries) {
    if (&e != own) kept.Union(e.fields);
  }
  gone.Subtract(kept);
  RemoveFields(&out.object, gone, kept, shapes);
  complete(&out.object);

  const FieldDifference d = Compare(live, out.object, shapes);
  for (const Entry& e : entries) {
    if (&e == own) continue;
    const FieldSet both = d.changed.Intersection(e.fields).Intersection(wanted);
    if (both.empty()) continue;
    both.ForEach([&](const std::string& field) { out.conflicts.push_back({OwnerText(e), field}); });
  }
  if (!out.conflicts.empty() && !force) return out;
  out.conflicts.clear();
  for (Entry& e : entries) {
    if (&e == own) continue;
    e.fields.Subtract(d.changed);
    e.fields.Subtract(d.removed);
  }
  // Only an apply that changed the object leaves its time.
  const bool moved = !d.changed.empty() || !d.removed.empty();
  if (own == nullptr) {
    entries.push_back(
        {manager.name, "Apply", manager.api_version, "", manager.subresource, wanted});
    own = &entries.back();
  } else {
    own->fields = wanted;
    own->api_version = manager.api_version;
  }
  if (moved) own->time = manager.now;
  Write(std::move(entries), &out.object);
  return out;
}

}  // namespace kcm::devcluster
