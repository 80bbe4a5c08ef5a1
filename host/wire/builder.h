// SPDX-License-Identifier: Apache-2.0
// ObjectBuilder: writes one object's flat bytes, children before their containers. Private to
// host/wire.
//
//   ObjectBuilder b(interner);
//   b.Begin();
//   const size_t mark = b.Mark();
//   b.Push(b.String("name"), b.String("x"), 0);
//   ObjectPtr object = b.Finish(b.Struct(mark), true);
//
// Reusable: memory of one object serves the next. Not thread-safe. Holds the interner's lock from
// Begin to Finish.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "host/wire/interner.h"
#include "host/wire/object.h"

namespace kcm::host::wire {

class ObjectBuilder {
 public:
  // `interner` may be nullptr: then nothing is shared between objects.
  explicit ObjectBuilder(Interner* interner) : interner_(interner) {}
  ObjectBuilder(const ObjectBuilder&) = delete;
  ObjectBuilder& operator=(const ObjectBuilder&) = delete;

  void Begin();
  // Gives up the object under construction (bad input).
  void Abandon();

  // Values; each returns the position.
  uint32_t Int(int64_t value);
  uint32_t Unsigned(uint64_t value);
  uint32_t Double(double value);
  // `shared`: the text may repeat across objects.
  uint32_t String(std::string_view text, bool shared = true);

  size_t bytes() const { return bytes_.size(); }  // so far

  // Containers: push the children since a mark, then close.
  size_t Mark() const { return entries_.size(); }
  void PushItem(uint32_t value) { entries_.push_back({0, value, 0}); }
  void Push(uint32_t key, uint32_t value, uint32_t rank) { entries_.push_back({key, value, rank}); }
  uint32_t Array(size_t mark);
  // Members in order of rank, then of key. Of two equal keys the later wins (as JSON decoders have
  // it).
  uint32_t Struct(size_t mark);

  // Takes a value of another object over into this one.
  uint32_t Copy(Value value);

  ObjectPtr Finish(uint32_t root, bool whole);

 private:
  struct Entry {
    uint32_t key;
    uint32_t value;
    uint32_t rank;
  };
  struct Known {
    uint32_t hash;
    uint32_t pos;
  };

  uint32_t Here() const { return static_cast<uint32_t>(bytes_.size()); }
  void PutVarint(uint64_t v);
  void PutSlot(uint32_t value, uint32_t container, bool wide);
  std::string_view Text(uint32_t pos) const;
  void SortMembers(size_t mark);
  void DropDuplicates(size_t mark);
  bool Reaches(size_t mark, uint32_t container) const;
  uint32_t Close(size_t mark, uint8_t shape);

  Interner* interner_;
  std::unique_lock<std::mutex> lock_;
  Dictionary* dictionary_ = nullptr;
  bool used_dictionary_ = false;
  std::vector<uint8_t> bytes_;
  std::vector<Entry> entries_;
  std::array<Known, 128> known_{};  // texts already in bytes_
};

}  // namespace kcm::host::wire
