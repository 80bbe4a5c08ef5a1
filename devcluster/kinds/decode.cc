// SPDX-License-Identifier: Apache-2.0
// Schema-driven decoding of JSON objects.
#include "devcluster/kinds/decode.h"

#include <algorithm>
#include <limits>

#include "kcm/rules/quantity.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr int kMaxObjectDepth = 100;

std::string_view GoKind(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return "bool";
    case Json::value_t::string:
      return "string";
    case Json::value_t::array:
      return "array";
    case Json::value_t::object:
      return "object";
    case Json::value_t::null:
      return "null";
    default:
      return "number";
  }
}

// "metadata.name" of struct ObjectMeta: where a value stands, for the error text.
struct Place {
  const Message* owner;
  std::string dotted;   // Go's form: without list indexes and map keys
  std::string indexed;  // with them, for unknown fields
};

class Decoder {
 public:
  explicit Decoder(std::vector<std::string>* unknown) : unknown_(unknown) {}

  bool Object(Json& value, const Message& message, const Place& at, int depth);
  const std::string& error() const { return error_; }

 private:
  bool Fail(const Json& value, const Place& at, std::string_view go_type) {
    const std::string place = at.owner == nullptr ? "" : at.owner->go_name + "." + at.dotted;
    error_ = "json: cannot unmarshal " + std::string(GoKind(value)) + " into Go " +
             (place.empty() ? "value" : "struct field " + place) + " of type " +
             std::string(go_type);
    return false;
  }
  bool Scalar(Json& value, const Field& field, const Place& at);
  bool Special(Json& value, const Message& message, const Place& at, int depth);
  bool Value(Json& value, const Field& field, const Place& at, int depth);
  bool Member(Json& value, const Field& field, const Place& at, int depth);
  bool SchemaOr(Json& value, const Message& message, const Place& at, int depth);
  static Json Zero(const Field& field);

  std::vector<std::string>* unknown_;
  std::string error_;
};

bool IsBase64(std::string_view text, size_t* bad) {
  size_t pad = 0, significant = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') continue;
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                        (c >= '0' && c <= '9') || c == '+' || c == '/';
    if ((!letter && c != '=') || (letter && pad > 0)) {
      *bad = i;
      return false;
    }
    if (c == '=') ++pad;
    ++significant;
  }
  *bad = text.size();
  return significant % 4 == 0 && pad <= 2;
}

bool Decoder::Scalar(Json& value, const Field& field, const Place& at) {
  switch (field.type) {
    case Field::Type::kString:
      return value.is_string() || Fail(value, at, "string");
    case Field::Type::kBool:
      return value.is_boolean() || Fail(value, at, "bool");
    case Field::Type::kDouble:
      return value.is_number() || Fail(value, at, "float64");
    case Field::Type::kInt32:
    case Field::Type::kInt64: {
      const std::string_view name = field.type == Field::Type::kInt32 ? "int32" : "int64";
      if (value.is_number_float()) {
        const double number = value.get<double>();
        if (number != static_cast<double>(static_cast<int64_t>(number)))
          return Fail(value, at, name);
        value = static_cast<int64_t>(number);
      }
      if (!value.is_number_integer()) return Fail(value, at, name);
      if (value.is_number_unsigned() &&
          value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
        return Fail(value, at, name);
      }
      const int64_t number = value.get<int64_t>();
      if (field.type == Field::Type::kInt32 && (number > std::numeric_limits<int32_t>::max() ||
                                                number < std::numeric_limits<int32_t>::min())) {
        return Fail(value, at, name);
      }
      return true;
    }
    case Field::Type::kBytes: {
      if (!value.is_string()) return Fail(value, at, "[]uint8");
      size_t bad = 0;
      if (IsBase64(value.get_ref<const std::string&>(), &bad)) return true;
      error_ = "illegal base64 data at input byte " + std::to_string(bad);
      return false;
    }
    case Field::Type::kMessage:
      return true;
  }
  return true;
}

bool Decoder::SchemaOr(Json& value, const Message& message, const Place& at, int depth) {
  const Field* schema = message.FieldNamed("schema");
  if (value.is_object() && schema != nullptr) return Object(value, *schema->message, at, depth + 1);
  if (value.is_array() && message.FieldNamed("jSONSchemas") != nullptr) {
    for (Json& item : value) {
      if (item.is_object() &&
          !Object(item, *message.FieldNamed("jSONSchemas")->message, at, depth + 1))
        return false;
    }
  }
  return true;
}

bool Decoder::Special(Json& value, const Message& message, const Place& at, int depth) {
  switch (message.form) {
    case Message::Form::kTime:
    case Message::Form::kMicroTime: {
      if (!value.is_string()) return Fail(value, at, "string");
      const std::optional<rules::WallTime> when =
          rules::ParseTime(value.get_ref<const std::string&>());
      if (!when) {
        error_ = "parsing time " + value.dump() +
                 " as \"2006-01-02T15:04:05Z07:00\": cannot parse " + value.dump() + " as \"2006\"";
        return false;
      }
      value = message.form == Message::Form::kTime ? rules::FormatTime(*when)
                                                   : rules::FormatMicroTime(*when);
      return true;
    }
    case Message::Form::kQuantity: {
      const std::string text = value.is_string()   ? value.get<std::string>()
                               : value.is_number() ? value.dump()
                                                   : "";
      const Result<rules::Quantity> amount = rules::Quantity::Parse(text);
      if (!amount.ok()) {
        error_ = amount.error().message;
        return false;
      }
      value = amount->Canonical();
      return true;
    }
    case Message::Form::kIntOrString:
      return value.is_string() || value.is_number_integer() ||
             Fail(value, at, "intstr.IntOrString");
    case Message::Form::kDuration:
      return value.is_string() || Fail(value, at, "string");
    case Message::Form::kList:
      return value.is_array() || Fail(value, at, "[]string");
    case Message::Form::kSchemaOr:
      return SchemaOr(value, message, at, depth);
    case Message::Form::kRaw:
    case Message::Form::kPlain:
      return true;
  }
  return true;
}

// One value of a field: not the list or map around it.
bool Decoder::Value(Json& value, const Field& field, const Place& at, int depth) {
  if (field.type != Field::Type::kMessage) {
    if (value.is_null()) value = Zero(field);
    return Scalar(value, field, at);
  }
  if (field.message == nullptr) return true;
  if (field.message->form != Message::Form::kPlain)
    return Special(value, *field.message, at, depth);
  if (value.is_null()) value = Json::object();
  if (!value.is_object()) {
    const std::string package = field.message->name.substr(0, field.message->name.rfind('.'));
    return Fail(value, at, package.substr(package.rfind('.') + 1) + "." + field.message->go_name);
  }
  return Object(value, *field.message, at, depth + 1);
}

bool Decoder::Member(Json& value, const Field& field, const Place& at, int depth) {
  if (field.map) {
    if (!value.is_object()) return Fail(value, at, "map[string]string");
    for (auto& [key, entry] : value.items()) {
      if (!Value(entry, field, {at.owner, at.dotted, at.indexed + "." + key}, depth)) return false;
    }
    return true;
  }
  if (field.repeated) {
    if (!value.is_array())
      return Fail(value, at, field.message == nullptr ? "[]string" : "[]" + field.message->go_name);
    for (size_t i = 0; i < value.size(); ++i) {
      if (!Value(value[i], field, {at.owner, at.dotted, at.indexed + "[" + std::to_string(i) + "]"},
                 depth))
        return false;
    }
    return true;
  }
  return Value(value, field, at, depth);
}

Json Decoder::Zero(const Field& field) {
  if (field.map || field.repeated) return nullptr;
  switch (field.type) {
    case Field::Type::kString:
      return "";
    case Field::Type::kBool:
      return false;
    case Field::Type::kBytes:
      return nullptr;
    case Field::Type::kMessage:
      if (field.message == nullptr || field.message->form == Message::Form::kPlain)
        return Json::object();
      if (field.message->form == Message::Form::kIntOrString) return 0;
      if (field.message->form == Message::Form::kQuantity) return "0";
      return nullptr;
    default:
      return 0;
  }
}

// Whether a decoded member is left out of the JSON (spec/wire.md, protobuf to JSON 2-5).
bool Omitted(const Json& value, const Field& field) {
  if (value.is_null()) return true;
  if (field.map || field.repeated) return value.empty();
  if (field.pointer || !(field.omitempty || field.omitzero)) return false;
  if (field.type == Field::Type::kMessage) {
    // omitempty does not hide structs; omitzero does.
    return field.omitzero && (value.is_null() || (value.is_object() && value.empty()));
  }
  return (value.is_string() && value.get_ref<const std::string&>().empty()) || value == false ||
         (value.is_number() && value == 0);
}

bool Decoder::Object(Json& value, const Message& message, const Place& at, int depth) {
  if (depth > kMaxObjectDepth) {
    error_ = "exceeded max depth";
    return false;
  }
  const auto place = [&](const std::string& name) {
    return Place{&message, at.dotted.empty() ? name : at.dotted + "." + name,
                 at.indexed.empty() ? name : at.indexed + "." + name};
  };
  std::vector<std::string> strange;
  for (auto& [name, member] : value.items()) {
    const Field* field = message.FieldNamed(name);
    if (field == nullptr) {
      if (!(message.typed && (name == "kind" || name == "apiVersion"))) strange.push_back(name);
      continue;
    }
    if (!member.is_null() && !Member(member, *field, place(name), depth)) return false;
  }
  for (const std::string& name : strange) {
    if (unknown_ != nullptr) unknown_->push_back(place(name).indexed);
    value.erase(name);
  }
  for (const Field& field : message.fields) {
    const auto it = value.find(field.name);
    const bool absent = it == value.end() || it->is_null();
    if (!absent && !Omitted(*it, field)) continue;
    if (field.map || field.repeated) {
      if (field.omitempty)
        value.erase(field.name);
      else
        value[field.name] = nullptr;
    } else if (!absent) {
      value.erase(field.name);
    } else if (field.pointer) {
      if (field.omitempty || field.omitzero)
        value.erase(field.name);
      else
        value[field.name] = nullptr;
    } else if (field.omitzero || (field.omitempty && field.type != Field::Type::kMessage)) {
      value.erase(field.name);
    } else {
      Json zero = Zero(field);
      if (zero.is_object() && field.message != nullptr &&
          !Object(zero, *field.message, place(field.name), depth + 1)) {
        return false;
      }
      value[field.name] = std::move(zero);
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> Decode(Json& object, const Message& message,
                                  std::vector<std::string>* unknown) {
  if (!object.is_object())
    return "json: cannot unmarshal " + std::string(GoKind(object)) + " into Go value";
  Decoder decoder(unknown);
  if (decoder.Object(object, message, {nullptr, "", ""}, 0)) return std::nullopt;
  return decoder.error();
}

void Canonicalise(Json& object, const Message& message) { Decode(object, message, nullptr); }

}  // namespace kcm::devcluster::kinds
