// SPDX-License-Identifier: Apache-2.0
// Loads the generated field table.
#include "devcluster/kinds/schema.h"

#include <algorithm>

namespace kcm::devcluster::kinds {

namespace {

constexpr std::string_view kTable[] = {
#include "devcluster/kinds/schema_table.inc"
};

Message::Form FormOf(std::string_view name) {
  using Form = Message::Form;
  if (name == "meta.v1.Time") return Form::kTime;
  if (name == "meta.v1.MicroTime") return Form::kMicroTime;
  if (name == "api.resource.Quantity") return Form::kQuantity;
  if (name == "util.intstr.IntOrString") return Form::kIntOrString;
  if (name == "meta.v1.Duration") return Form::kDuration;
  if (name == "meta.v1.FieldsV1" || name == "runtime.RawExtension" ||
      name == "apiextensions.v1.JSON")
    return Form::kRaw;
  if (name.ends_with(".ExtraValue") || name == "meta.v1.Verbs") return Form::kList;
  if (name.starts_with("apiextensions.v1.JSONSchemaPropsOr")) return Form::kSchemaOr;
  return Form::kPlain;
}

struct Line {
  std::string_view name, flags, type;
};

Line Split(std::string_view line) {
  const size_t a = line.find(' ');
  const size_t b = line.rfind(' ');
  return {line.substr(0, a), a == b ? std::string_view() : line.substr(a + 1, b - a - 1),
          line.substr(b + 1)};
}

}  // namespace

const Field* Message::FieldNamed(std::string_view member) const {
  for (const Field& f : fields) {
    if (f.name == member) return &f;
  }
  return nullptr;
}

Schema::Schema() {
  std::map<const Message*, std::vector<Line>> lines;
  const auto add = [this](std::string_view name) {
    auto message = std::make_unique<Message>();
    message->name = name;
    message->go_name = name.substr(name.rfind('.') + 1);
    message->form = FormOf(name);
    return messages_.emplace(std::string(name), std::move(message)).first->second.get();
  };
  for (std::string_view text : kTable) {
    Message* current = nullptr;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const Line line = Split(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.flags.empty()) {
        current = add(line.type);
        current->typed = line.name == "K";
      } else if (current != nullptr) {
        lines[current].push_back(line);
      }
    }
  }
  // Expands inline members: their fields stand in the parent's JSON (spec/wire.md, rule 1). Depth
  // is that of the table.
  const auto expand = [&](const auto& self, const Message* from, Message* into, int depth) -> void {
    for (const Line& line : lines[from]) {
      std::string_view type = line.type;
      const auto has = [&](char flag) { return line.flags.find(flag) != std::string_view::npos; };
      Field f;
      f.name = line.name;
      f.map = type.front() == '{';
      if (f.map) type.remove_prefix(1);
      f.repeated = has('r');
      f.pointer = has('p');
      f.omitempty = has('o');
      f.omitzero = has('z');
      static constexpr std::string_view kScalars = "swlbyd";
      const size_t scalar = type.size() == 1 ? kScalars.find(type) : std::string_view::npos;
      f.type = scalar == std::string_view::npos ? Field::Type::kMessage
                                                : static_cast<Field::Type>(scalar);
      if (f.type == Field::Type::kMessage) f.message = Find(type);
      if (has('i') && f.message != nullptr && depth < 8) {
        self(self, f.message, into, depth + 1);
      } else {
        into->fields.push_back(std::move(f));
      }
    }
  };
  for (const auto& [name, message] : messages_) {
    if (message->form == Message::Form::kPlain) expand(expand, message.get(), message.get(), 0);
  }
}

const Message* Schema::Find(std::string_view name) const {
  const auto it = messages_.find(name);
  return it == messages_.end() ? nullptr : it->second.get();
}

std::string Dump(const Json& value, const Message* message) {
  if (value.is_array()) {
    std::string out = "[";
    for (const Json& item : value) out += (out.size() > 1 ? "," : "") + Dump(item, message);
    return out + "]";
  }
  if (!value.is_object() || message == nullptr || message->form != Message::Form::kPlain) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string out = "{";
  const auto put = [&](std::string_view name, const std::string& text) {
    if (out.size() > 1) out += ",";
    out += Json(name).dump() + ":" + text;
  };
  for (const Field& f : message->fields) {
    const auto it = value.find(f.name);
    if (it == value.end()) continue;
    if (f.map && it->is_object()) {
      std::string map = "{";
      for (const auto& [key, entry] : it->items()) {
        map += (map.size() > 1 ? "," : "") + Json(key).dump() + ":" + Dump(entry, f.message);
      }
      put(f.name, map + "}");
    } else {
      put(f.name, Dump(*it, f.message));
    }
  }
  return out + "}";
}

}  // namespace kcm::devcluster::kinds
