// SPDX-License-Identifier: Apache-2.0
// Store: the objects of one informer by key, with its indexes (spec/host.md 5.8). Reads see one
// snapshot each.
//
// Keys are the objects' own namespace and name: nothing is copied per object but one pointer per
// index value.
#pragma once
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/cache/informer.h"
#include "host/cache/pointer_set.h"

namespace kcm::host::cache {

// Calls `value` for each value that `spec` gives an object.
void ForEachIndexValue(const IndexSpec& spec, const wire::Object& object,
                       const std::function<void(std::string_view)>& value);

// Thread-safe. Writers are serialised by the caller's order of calls, readers run beside each
// other.
class Store {
 public:
  Store();

  wire::ObjectPtr Get(std::string_view key) const;
  wire::ObjectPtr Get(std::string_view ns, std::string_view name) const;
  std::vector<wire::ObjectPtr> List(std::string_view ns) const;
  std::vector<wire::ObjectPtr> ByIndex(int index, std::string_view value) const;
  size_t Size() const;
  int AddIndex(const IndexSpec& spec);

  // Stores; returns what was there under the key.
  wire::ObjectPtr Put(const wire::ObjectPtr& object);
  wire::ObjectPtr Remove(std::string_view ns, std::string_view name);

  // One old and new state of a key; old null: added, new null: gone.
  struct Change {
    wire::ObjectPtr old_object, object;
  };
  // Exchanges the whole content at once. Changes: the gone ones first (by key), then the others in
  // the order of `items`. A key twice in `items`: the last wins.
  std::vector<Change> Replace(const std::vector<wire::ObjectPtr>& items);

 private:
  struct Key {
    std::string_view ns, name;
  };
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(const Key& k) const;
    size_t operator()(const wire::ObjectPtr& o) const {
      return (*this)(Key{o->Namespace(), o->Name()});
    }
  };
  struct KeyEqual {
    using is_transparent = void;
    static Key Of(const Key& k) { return k; }
    static Key Of(const wire::ObjectPtr& o) { return {o->Namespace(), o->Name()}; }
    template <class X, class Y>
    bool operator()(const X& x, const Y& y) const {
      const Key a = Of(x), b = Of(y);
      return a.name == b.name && a.ns == b.ns;
    }
  };
  struct ValueHash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  using Table = std::unordered_set<wire::ObjectPtr, KeyHash, KeyEqual>;
  struct Index {
    IndexSpec spec;
    std::unordered_map<std::string, PointerSet, ValueHash, std::equal_to<>> buckets;
    void Add(const wire::Object& object);
    void Remove(const wire::Object& object);
  };
  wire::ObjectPtr PutLocked(const wire::ObjectPtr& object);
  void SortByKey(std::vector<wire::ObjectPtr>* objects) const;

  mutable std::shared_mutex mutex_;
  Table table_;                                  // guarded by mutex_
  std::vector<std::unique_ptr<Index>> indexes_;  // guarded by mutex_; [0] is by namespace
};

}  // namespace kcm::host::cache
