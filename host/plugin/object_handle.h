// SPDX-License-Identifier: Apache-2.0
// kcm_object: the handle a plugin holds, and the "kcm.object/1" table. A handle is one version of
// an object seen through the field mask of one watch; a plugin that reads a field it did not
// declare finds it absent, whatever others declared.
#pragma once
#include <kcm/object.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "host/wire/mask.h"
#include "host/wire/object.h"

namespace kcm::host::plugin {

// A mask in the form cursors walk it: nodes in one array, 0 stands for "everything below".
// Immutable.
class ReadMask {
 public:
  // nullptr for a mask that keeps all: nothing to filter.
  static std::shared_ptr<const ReadMask> Make(const wire::Mask& mask);
  // Node of a member below `node`: 0 = visible with everything below, kHidden = not declared.
  static constexpr uint32_t kHidden = 0xffffffffu;
  uint32_t Child(uint32_t node, std::string_view name) const;
  uint32_t root() const { return 1; }

 private:
  struct Node {
    std::vector<std::pair<std::string, uint32_t>> children;
  };                         // sorted by name
  std::vector<Node> nodes_;  // [0] is unused
  uint32_t Add(const wire::Mask::Node& from);
};

// Counts the handles a generation has out: an image is unmapped only at 0.
using HandleCount = std::shared_ptr<std::atomic<int64_t>>;

// A new handle with one reference, owned by the caller. REQUIRES: object.
kcm_object* NewHandle(wire::ObjectPtr object, std::shared_ptr<const ReadMask> mask,
                      HandleCount count);
const wire::ObjectPtr& ObjectOf(const kcm_object* handle);

const kcm_object_api& ObjectTable();

}  // namespace kcm::host::plugin

struct kcm_object {
  std::atomic<uint32_t> references;
  kcm::host::wire::ObjectPtr object;
  std::shared_ptr<const kcm::host::plugin::ReadMask> mask;
  kcm::host::plugin::HandleCount count;
};
