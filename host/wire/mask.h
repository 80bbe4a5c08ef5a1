// SPDX-License-Identifier: Apache-2.0
// Mask: which fields of a kind are kept while decoding. Compiled from dotted paths; a tree of
// member names.
//
//   "metadata"                        everything below metadata (always in effect, less
//   managedFields) "status.conditions"               the whole list "spec.containers[].name" one
//   member of every list item ([] is optional: "spec.containers.name" is the same)
//   "metadata.annotations[a/b.c]"     one key of a map
//   "*"                               the whole object: the mask Mask() that drops nothing
// No path at all keeps metadata only. A selector of list items ("conditions[type=Ready]") counts as
// []. metadata is always kept whole (design 4), and kind/apiVersion where the wire carries them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::host::wire {

// Immutable and thread-safe once built.
class Mask {
 public:
  Mask();  // keeps everything
  static Result<Mask> Compile(const std::vector<std::string>& paths);
  static Mask Union(const Mask& x, const Mask& y);

  bool keeps_all() const { return root_ == nullptr; }
  // True when every field kept by `narrower` is kept by this mask.
  bool Covers(const Mask& narrower) const;
  std::vector<std::string> Paths() const;  // canonical, sorted; {"*"} when it keeps all

  // The tree. A node without children keeps everything below it.
  struct Node {
    std::string name;            // member name or map key; "" for the root
    uint32_t id = 0;             // FieldId(name): decoders compare numbers
    std::vector<Node> children;  // sorted by name
    bool all() const { return children.empty(); }
    const Node* Child(std::string_view name) const;  // nullptr: dropped
    const Node* Field(uint32_t field_id) const;      // the same by FieldId
  };
  const Node* root() const { return root_.get(); }  // nullptr: keeps all

 private:
  explicit Mask(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace kcm::host::wire
