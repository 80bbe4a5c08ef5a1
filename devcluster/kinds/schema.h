// SPDX-License-Identifier: Apache-2.0
// Schema: the members and types of every built-in message, for strict decoding, canonical JSON and
// dumps in declaration order. Read from a generated table (schema_table.inc) once per registry;
// immutable and thread-safe afterwards.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

struct Message;

struct Field {
  enum class Type : uint8_t { kString, kInt32, kInt64, kBool, kBytes, kDouble, kMessage };
  std::string name;
  Type type = Type::kString;
  const Message* message = nullptr;  // of kMessage
  bool map = false, repeated = false, pointer = false, omitempty = false, omitzero = false;
};

struct Message {
  // Messages whose JSON is not an object of their fields (spec/wire.md).
  enum class Form : uint8_t {
    kPlain,
    kTime,
    kMicroTime,
    kQuantity,
    kIntOrString,
    kDuration,
    kRaw,
    kList,
    kSchemaOr
  };
  std::string name;     // "core.v1.PodSpec"
  std::string go_name;  // "PodSpec"
  Form form = Form::kPlain;
  bool typed = false;         // carries kind and apiVersion
  std::vector<Field> fields;  // declaration order; inline messages are expanded
  const Field* FieldNamed(std::string_view member) const;
};

class Schema {
 public:
  Schema();
  const Message* Find(std::string_view name) const;  // nullptr: no such message

 private:
  std::map<std::string, std::unique_ptr<Message>, std::less<>> messages_;
};

// JSON text with members in declaration order (maps sorted), as the API server prints values in
// messages.
std::string Dump(const Json& value, const Message* message);

}  // namespace kcm::devcluster::kinds
