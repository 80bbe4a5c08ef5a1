// SPDX-License-Identifier: Apache-2.0
// JsonReader: one JSON document into the flat form. Keeps its parser's memory for the next
// document. Private to host/wire.
#pragma once
#include <memory>
#include <string_view>

#include "host/wire/builder.h"
#include "host/wire/codec.h"

namespace kcm::host::wire {

// Not thread-safe.
class JsonReader {
 public:
  explicit JsonReader(const DecodeOptions& options);
  ~JsonReader();

  // `assumed` (may be nullptr): the type of a document that names none, as items of a list do not.
  Result<ObjectPtr> Read(std::string_view json, const TypeMeta* assumed, TypeMeta* type);
  // {"type": ..., "object": ...}
  Status ReadEvent(std::string_view json, WatchEvent* event);
  // A value of no known kind into an object that `builder` is making; returns its position. Clears
  // *whole when the mask drops something.
  Result<uint32_t> Append(std::string_view json, const Mask::Node* mask, int depth,
                          ObjectBuilder* builder, bool* whole);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

EventType EventTypeOf(std::string_view text);

}  // namespace kcm::host::wire
