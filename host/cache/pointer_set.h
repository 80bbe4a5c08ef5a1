// SPDX-License-Identifier: Apache-2.0
// PointerSet: a compact set of object pointers, 8 to 16 bytes an entry: what an index keeps per
// value. Small sets are a plain list; larger ones an open addressing table, so that taking one of
// 30 000 pods out of a namespace costs the same.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kcm::host::cache {

// Externally synchronised. Holds no reference.
class PointerSet {
 public:
  // REQUIRES: p != nullptr, not in the set.
  void Add(const void* p) {
    if (size_ == slots_.size() || (hashed() && (size_ + 1) * 4 > slots_.size() * 3)) Grow();
    ++size_;
    Place(p);
  }

  // Does nothing when absent.
  void Remove(const void* p) {
    size_t i = Find(p);
    if (i == slots_.size()) return;
    --size_;
    if (!hashed()) {
      slots_[i] = slots_[size_];
      slots_[size_] = nullptr;
      return;
    }
    // Backward shift: entries that probed past the hole move into it, so no tombstones pile up.
    const size_t mask = slots_.size() - 1;
    for (size_t j = (i + 1) & mask; slots_[j] != nullptr; j = (j + 1) & mask) {
      const size_t home = Hash(slots_[j]) & mask;
      if (((j - home) & mask) < ((j - i) & mask)) continue;
      slots_[i] = slots_[j];
      i = j;
    }
    slots_[i] = nullptr;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  template <class F>
  void ForEach(F f) const {
    for (const void* p : slots_) {
      if (p != nullptr) f(p);
    }
  }

 private:
  static constexpr size_t kListMax = 8;
  bool hashed() const { return slots_.size() > kListMax; }
  static size_t Hash(const void* p) {
    const uint64_t x = reinterpret_cast<uintptr_t>(p) >> 4;
    return static_cast<size_t>((x * 0x9E3779B97F4A7C15u) >> 20);
  }

  size_t Find(const void* p) const {
    if (!hashed()) {
      for (size_t i = 0; i < size_; ++i) {
        if (slots_[i] == p) return i;
      }
      return slots_.size();
    }
    const size_t mask = slots_.size() - 1;
    for (size_t i = Hash(p) & mask; slots_[i] != nullptr; i = (i + 1) & mask) {
      if (slots_[i] == p) return i;
    }
    return slots_.size();
  }

  // REQUIRES: a free slot. In list form size_ counts p already.
  void Place(const void* p) {
    if (!hashed()) {
      slots_[size_ - 1] = p;
      return;
    }
    const size_t mask = slots_.size() - 1;
    size_t i = Hash(p) & mask;
    while (slots_[i] != nullptr) i = (i + 1) & mask;
    slots_[i] = p;
  }

  void Grow() {
    std::vector<const void*> old(slots_.empty() ? 1 : slots_.size() * 2, nullptr);
    old.swap(slots_);
    if (!hashed()) {
      for (size_t i = 0; i < old.size(); ++i) slots_[i] = old[i];
      return;
    }
    for (const void* p : old) {
      if (p != nullptr) Place(p);
    }
  }

  std::vector<const void*> slots_;  // size 0, 1, 2, 4, 8: a list; a larger power of two: a table
  size_t size_ = 0;
};

}  // namespace kcm::host::cache
