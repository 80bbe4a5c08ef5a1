// SPDX-License-Identifier: Apache-2.0
// Interner: texts that repeat across objects (namespaces, label values, images, node and owner
// names) stored once. A text is taken in when it is met the second time, so what is unique to an
// object stays in the object.
//
//   Interner interner;                       // one for all caches of a host
//   options.interner = &interner;            // objects decoded with it share their texts
//
// Objects hold a counted reference to the dictionary that their texts are in, so they may outlive
// the Interner. Full dictionaries (16 384 texts) are replaced: memory is bounded by what live
// objects refer to. Thread-safe; one object is decoded at a time per Interner.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace kcm::host::wire {

// Texts by id. Only the Interner that made it adds; readers need no lock, since an id reaches them
// with its object.
class Dictionary {
 public:
  std::string_view At(uint32_t id) const {
    const Text& t = chunks_[id / kChunk][id % kChunk];
    return {t.data, t.size};
  }
  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

 private:
  friend class Interner;
  static constexpr size_t kChunk = 256, kChunks = 64;
  struct Text {
    const char* data;
    uint32_t size;
  };
  Dictionary() = default;
  uint32_t Add(std::string_view text);  // REQUIRES: size() < kChunk * kChunks
  uint32_t size() const { return size_; }

  std::atomic<uint32_t> refs_{1};
  uint32_t size_ = 0;
  size_t bytes_ = sizeof(Dictionary);
  std::unique_ptr<Text[]> chunks_[kChunks];
  std::vector<std::unique_ptr<char[]>> arena_;
  size_t free_ = 0;  // bytes left at the end of the last arena block
};

class Interner {
 public:
  Interner();
  ~Interner();
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;

  struct Stats {
    size_t texts = 0;         // in the current dictionary
    size_t bytes = 0;         // of the current dictionary and the look-up tables
    size_t dictionaries = 0;  // made so far
  };
  Stats stats() const;

 private:
  friend class ObjectBuilder;
  static constexpr size_t kMinText = 4, kMaxText = 128;
  // All three: REQUIRES mutex_ held.
  Dictionary* Current();  // one with room
  bool Find(std::string_view text, uint64_t hash,
            uint32_t* id);  // false: keep the text in the object
  void Grow();

  mutable std::mutex mutex_;
  Dictionary* current_;
  std::vector<uint16_t> slots_;  // id + 1, open addressing
  std::vector<uint32_t> seen_;   // hashes met once
  size_t dictionaries_ = 1;
};

}  // namespace kcm::host::wire
