// SPDX-License-Identifier: Apache-2.0
// Node: any readable JSON-like value, whatever holds it (a cached flat object, a cursor across the
// ABI, an nlohmann::json). The rules in this folder read objects through it and nothing else.
//
//   bool ready = pod.Get("status").Get("phase").String() == "Running";
//
// A Node is a borrowed view of 24 bytes: it lives as long as what it reads. Reading what is absent
// gives an absent Node, an empty string, 0 or false: no path needs a check at each step.
// Thread-safe when the holder is immutable.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace kcm::rules {

enum class Kind : uint8_t { kAbsent, kNull, kBool, kInt, kDouble, kString, kArray, kObject };

class Node;

// How one representation is read. One constant table per representation; (a, b) are that
// representation's own words.
struct NodeOps {
  Kind (*kind)(uint64_t a, uint64_t b);
  Node (*member)(uint64_t a, uint64_t b, std::string_view name);  // absent Node when there is none
  size_t (*size)(uint64_t a, uint64_t b);                         // of arrays and objects, else 0
  Node (*at)(uint64_t a, uint64_t b, size_t index);               // REQUIRES: array, index < size
  std::pair<std::string_view, Node> (*entry)(uint64_t a, uint64_t b,
                                             size_t index);  // REQUIRES: object, index < size
  std::string_view (*string)(uint64_t a, uint64_t b);        // "" unless a string
  int64_t (*integer)(uint64_t a, uint64_t b);  // 0 unless a number; doubles are truncated
  double (*real)(uint64_t a, uint64_t b);
  bool (*boolean)(uint64_t a, uint64_t b);
};

class Node {
 public:
  constexpr Node() = default;
  constexpr Node(const NodeOps* ops, uint64_t a, uint64_t b) : ops_(ops), a_(a), b_(b) {}

  Kind kind() const { return ops_ == nullptr ? Kind::kAbsent : ops_->kind(a_, b_); }
  // Present and not null.
  bool Has() const { return kind() > Kind::kNull; }
  explicit operator bool() const { return Has(); }
  bool IsString() const { return kind() == Kind::kString; }
  bool IsNumber() const {
    const Kind k = kind();
    return k == Kind::kInt || k == Kind::kDouble;
  }

  Node Get(std::string_view name) const {
    return ops_ == nullptr ? Node() : ops_->member(a_, b_, name);
  }
  // Follows a dotted path of plain member names ("status.phase"). Names with dots need Get().
  Node Path(std::string_view dotted) const {
    Node n = *this;
    while (!dotted.empty()) {
      const size_t dot = dotted.find('.');
      n = n.Get(dotted.substr(0, dot));
      if (dot == std::string_view::npos) break;
      dotted.remove_prefix(dot + 1);
    }
    return n;
  }
  size_t size() const { return ops_ == nullptr ? 0 : ops_->size(a_, b_); }
  bool empty() const { return size() == 0; }
  Node At(size_t index) const { return ops_->at(a_, b_, index); }
  std::pair<std::string_view, Node> Entry(size_t index) const { return ops_->entry(a_, b_, index); }

  std::string_view String() const {
    return ops_ == nullptr ? std::string_view() : ops_->string(a_, b_);
  }
  int64_t Int(int64_t otherwise = 0) const {
    return IsNumber() ? ops_->integer(a_, b_) : otherwise;
  }
  double Real(double otherwise = 0) const { return IsNumber() ? ops_->real(a_, b_) : otherwise; }
  bool Bool(bool otherwise = false) const {
    return kind() == Kind::kBool ? ops_->boolean(a_, b_) : otherwise;
  }

  // for (Node item : list.Items()) — empty for anything but an array.
  class Range;
  Range Items() const;
  // for (auto [key, value] : map.Entries()) — empty for anything but an object.
  class EntryRange;
  EntryRange Entries() const;

  const NodeOps* ops() const { return ops_; }
  uint64_t a() const { return a_; }
  uint64_t b() const { return b_; }

 private:
  const NodeOps* ops_ = nullptr;
  uint64_t a_ = 0;
  uint64_t b_ = 0;
};

class Node::Range {
 public:
  class Iterator {
   public:
    Iterator(Node n, size_t i) : n_(n), i_(i) {}
    Node operator*() const { return n_.At(i_); }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator!=(const Iterator& o) const { return i_ != o.i_; }

   private:
    Node n_;
    size_t i_;
  };
  explicit Range(Node n) : n_(n), size_(n.kind() == Kind::kArray ? n.size() : 0) {}
  Iterator begin() const { return {n_, 0}; }
  Iterator end() const { return {n_, size_}; }

 private:
  Node n_;
  size_t size_;
};

class Node::EntryRange {
 public:
  class Iterator {
   public:
    Iterator(Node n, size_t i) : n_(n), i_(i) {}
    std::pair<std::string_view, Node> operator*() const { return n_.Entry(i_); }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator!=(const Iterator& o) const { return i_ != o.i_; }

   private:
    Node n_;
    size_t i_;
  };
  explicit EntryRange(Node n) : n_(n), size_(n.kind() == Kind::kObject ? n.size() : 0) {}
  Iterator begin() const { return {n_, 0}; }
  Iterator end() const { return {n_, size_}; }

 private:
  Node n_;
  size_t size_;
};

inline Node::Range Node::Items() const { return Range(*this); }
inline Node::EntryRange Node::Entries() const { return EntryRange(*this); }

}  // namespace kcm::rules
