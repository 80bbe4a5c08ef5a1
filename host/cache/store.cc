// SPDX-License-Identifier: Apache-2.0
// The indexed store.
#include "host/cache/store.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "kcm/rules/owner_reference.h"

namespace kcm::host::cache {

void ForEachIndexValue(const IndexSpec& spec, const wire::Object& object,
                       const std::function<void(std::string_view)>& value) {
  switch (spec.by) {
    case IndexSpec::By::kNamespace:
      return value(object.Namespace());
    case IndexSpec::By::kControllerUid: {
      const rules::Node controller = rules::ControllerOf(object.Node());
      if (controller.Has()) return value(controller.Get("uid").String());
      return value("orphan:" + std::string(object.Namespace()));
    }
    case IndexSpec::By::kOwnerUid:
      for (const rules::Node owner : object.Node().Path("metadata.ownerReferences").Items())
        value(owner.Get("uid").String());
      return;
    case IndexSpec::By::kField: {
      const rules::Node field = object.Node().Path(spec.path);
      if (field.IsString()) value(field.String());
      return;
    }
    case IndexSpec::By::kLabel: {
      const rules::Node label = object.Node().Path("metadata.labels").Get(spec.path);
      if (label.IsString()) value(label.String());
      return;
    }
  }
}

size_t Store::KeyHash::operator()(const Key& k) const {
  const std::hash<std::string_view> hash;
  return hash(k.name) * 31 + hash(k.ns);
}

void Store::Index::Add(const wire::Object& object) {
  std::vector<std::string_view> seen;  // an object that names one owner twice counts once
  ForEachIndexValue(spec, object, [&](std::string_view value) {
    auto it = buckets.find(value);
    if (it == buckets.end()) it = buckets.emplace(std::string(value), PointerSet()).first;
    if (std::find(seen.begin(), seen.end(), it->first) != seen.end()) return;
    seen.push_back(it->first);
    it->second.Add(&object);
  });
}

void Store::Index::Remove(const wire::Object& object) {
  ForEachIndexValue(spec, object, [&](std::string_view value) {
    const auto it = buckets.find(value);
    if (it == buckets.end()) return;
    it->second.Remove(&object);
    if (it->second.empty()) buckets.erase(it);
  });
}

Store::Store() { indexes_.push_back(std::make_unique<Index>()); }

wire::ObjectPtr Store::Get(std::string_view key) const {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return Get("", key);
  return Get(key.substr(0, slash), key.substr(slash + 1));
}

wire::ObjectPtr Store::Get(std::string_view ns, std::string_view name) const {
  std::shared_lock lock(mutex_);
  const auto it = table_.find(Key{ns, name});
  return it == table_.end() ? wire::ObjectPtr() : *it;
}

void Store::SortByKey(std::vector<wire::ObjectPtr>* objects) const {
  std::sort(objects->begin(), objects->end(),
            [](const wire::ObjectPtr& x, const wire::ObjectPtr& y) {
              if (const int c = x->Namespace().compare(y->Namespace()); c != 0) return c < 0;
              return x->Name() < y->Name();
            });
}

std::vector<wire::ObjectPtr> Store::List(std::string_view ns) const {
  if (!ns.empty()) {
    std::vector<wire::ObjectPtr> out = ByIndex(0, ns);
    SortByKey(&out);
    return out;
  }
  std::vector<wire::ObjectPtr> out;
  {
    std::shared_lock lock(mutex_);
    out.assign(table_.begin(), table_.end());
  }
  SortByKey(&out);
  return out;
}

std::vector<wire::ObjectPtr> Store::ByIndex(int index, std::string_view value) const {
  std::vector<wire::ObjectPtr> out;
  std::shared_lock lock(mutex_);
  if (index < 0 || static_cast<size_t>(index) >= indexes_.size()) return out;
  const Index& i = *indexes_[static_cast<size_t>(index)];
  const auto it = i.buckets.find(value);
  if (it == i.buckets.end()) return out;
  out.reserve(it->second.size());
  it->second.ForEach([&out](const void* p) {
    const auto* object = static_cast<const wire::Object*>(p);
    object->Ref();
    out.push_back(wire::ObjectPtr::Adopt(object));
  });
  return out;
}

size_t Store::Size() const {
  std::shared_lock lock(mutex_);
  return table_.size();
}

int Store::AddIndex(const IndexSpec& spec) {
  std::unique_lock lock(mutex_);
  for (size_t i = 0; i < indexes_.size(); ++i) {
    if (indexes_[i]->spec == spec) return static_cast<int>(i);
  }
  auto index = std::make_unique<Index>();
  index->spec = spec;
  for (const wire::ObjectPtr& object : table_) index->Add(*object);
  indexes_.push_back(std::move(index));
  return static_cast<int>(indexes_.size() - 1);
}

wire::ObjectPtr Store::PutLocked(const wire::ObjectPtr& object) {
  wire::ObjectPtr old;
  const auto it = table_.find(object);
  if (it == table_.end()) {
    table_.insert(object);
  } else {
    old = *it;
    if (old == object) return old;
    auto node = table_.extract(it);
    node.value() = object;
    table_.insert(std::move(node));
  }
  for (const std::unique_ptr<Index>& index : indexes_) {
    index->Add(*object);  // before Remove: a value that both have keeps its bucket
    if (old) index->Remove(*old);
  }
  return old;
}

wire::ObjectPtr Store::Put(const wire::ObjectPtr& object) {
  std::unique_lock lock(mutex_);
  return PutLocked(object);
}

wire::ObjectPtr Store::Remove(std::string_view ns, std::string_view name) {
  std::unique_lock lock(mutex_);
  const auto it = table_.find(Key{ns, name});
  if (it == table_.end()) return wire::ObjectPtr();
  wire::ObjectPtr old = *it;
  table_.erase(it);
  for (const std::unique_ptr<Index>& index : indexes_) index->Remove(*old);
  return old;
}

std::vector<Store::Change> Store::Replace(const std::vector<wire::ObjectPtr>& items) {
  std::vector<Change> changes;
  Table old;
  std::unique_lock lock(mutex_);
  old.swap(table_);
  table_.reserve(items.size());
  for (const std::unique_ptr<Index>& index : indexes_) index->buckets.clear();
  for (const wire::ObjectPtr& item : items) {
    const auto [it, added] = table_.insert(item);
    if (added) continue;
    auto node = table_.extract(it);
    node.value() = item;
    table_.insert(std::move(node));
  }
  for (const wire::ObjectPtr& object : table_) {
    for (const std::unique_ptr<Index>& index : indexes_) index->Add(*object);
  }
  std::vector<wire::ObjectPtr> gone;
  for (const wire::ObjectPtr& object : old) {
    if (table_.find(object) == table_.end()) gone.push_back(object);
  }
  lock.unlock();
  SortByKey(&gone);
  changes.reserve(gone.size() + items.size());
  for (wire::ObjectPtr& object : gone) changes.push_back({std::move(object), {}});
  for (const wire::ObjectPtr& item : items) {
    if (!(*table_.find(item) == item))
      continue;  // a later item has the same key. Only this thread writes table_
    const auto it = old.find(item);
    changes.push_back({it == old.end() ? wire::ObjectPtr() : *it, item});
  }
  return changes;
}

}  // namespace kcm::host::cache
