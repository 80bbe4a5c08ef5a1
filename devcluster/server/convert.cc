// SPDX-License-Identifier: Apache-2.0
// Conversions (convert.h).
#include "devcluster/server/convert.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "devcluster/server/failure.h"
#include "devcluster/server/json_syntax.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;
using host::wire::TypeMeta;
using host::wire::Value;

namespace {

constexpr int kMaxDepth = 200;

// Builds Json from parser events: bounds the depth and sees duplicate members, which nlohmann's own
// tree builder does not.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(Json* root, std::vector<std::string>* duplicates)
      : root_(root), duplicates_(duplicates) {}

  bool null() override { return Put(nullptr); }
  bool boolean(bool v) override { return Put(v); }
  bool number_integer(number_integer_t v) override { return Put(v); }
  bool number_unsigned(number_unsigned_t v) override { return Put(v); }
  bool number_float(number_float_t v, const string_t&) override { return Put(v); }
  bool string(string_t& v) override { return Put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    Frame& top = stack_.back();
    if (duplicates_ != nullptr && top.node->contains(name)) duplicates_->push_back(Path(name));
    top.key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    error = e.what();
    return false;
  }
  std::string error;

 private:
  struct Frame {
    Json* node;
    std::string key;
  };

  std::string Path(const std::string& last) const {
    std::string path;
    for (size_t i = 0; i + 1 < stack_.size(); ++i) {
      const Frame& f = stack_[i];
      if (f.node->is_array()) {
        path += "[" + std::to_string(f.node->size() - 1) + "]";
      } else {
        path += (path.empty() ? "" : ".") + f.key;
      }
    }
    return path.empty() ? last : path + "." + last;
  }

  Json* Place(Json value) {
    if (stack_.empty()) {
      *root_ = std::move(value);
      return root_;
    }
    Frame& top = stack_.back();
    if (top.node->is_array()) {
      top.node->push_back(std::move(value));
      return &top.node->back();
    }
    Json& slot = (*top.node)[top.key];
    slot = std::move(value);
    return &slot;
  }
  bool Put(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    if (stack_.size() >= kMaxDepth) {
      error = "exceeded max depth";
      return false;
    }
    stack_.push_back({Place(std::move(value)), ""});
    return true;
  }
  bool Close() {
    stack_.pop_back();
    return true;
  }

  Json* root_;
  std::vector<std::string>* duplicates_;
  std::vector<Frame> stack_;
};

// An integer of YAML 1.1, as far as it fits 64 bits: signs, `_` between digits, 0x, 0b, and octal
// with 0o or a 0 alone. "08" is none.
std::optional<int64_t> YamlInteger(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits += c;
  }
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  int base = 10;
  for (const auto& [prefix, of] : {std::pair("0x", 16), std::pair("0X", 16), std::pair("0o", 8),
                                   std::pair("0O", 8), std::pair("0b", 2), std::pair("0B", 2)}) {
    if (base == 10 && digits.starts_with(prefix)) {
      digits.erase(0, 2);
      base = of;
    }
  }
  if (base == 10 && digits.size() > 1 && digits[0] == '0') base = 8;
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  if (negative) digits.insert(0, 1, '-');
  int64_t whole = 0;
  const char* end = digits.data() + digits.size();
  const auto [p, e] = std::from_chars(digits.data(), end, whole, base);
  if (e != std::errc() || p != end) return std::nullopt;
  return whole;
}

Json FromScalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;  // quoted
  if (text == "null" || text == "~" || text.empty() || text == "Null" || text == "NULL")
    return nullptr;
  bool flag = false;
  if (YAML::convert<bool>::decode(node, flag)) return flag;
  if (const std::optional<int64_t> whole = YamlInteger(text)) return *whole;
  const char* end = text.data() + text.size();
  double real = 0;
  if (const auto [p, e] = std::from_chars(text.data(), end, real);
      e == std::errc() && p == end && std::isfinite(real)) {
    return real;
  }
  return text;
}

Json FromYaml(const YAML::Node& node, int depth) {
  if (depth > kMaxDepth) Fail(BadRequest("yaml: exceeded max depth"));
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return FromScalar(node);
    case YAML::NodeType::Sequence: {
      Json list = Json::array();
      for (const YAML::Node& item : node) list.push_back(FromYaml(item, depth + 1));
      return list;
    }
    case YAML::NodeType::Map: {
      Json map = Json::object();
      for (const auto& entry : node) map[entry.first.Scalar()] = FromYaml(entry.second, depth + 1);
      return map;
    }
    default:
      return nullptr;
  }
}

}  // namespace

Json Editable(Value value) {
  switch (value.kind()) {
    case rules::Kind::kAbsent:
    case rules::Kind::kNull:
      return nullptr;
    case rules::Kind::kBool:
      return value.Bool();
    case rules::Kind::kInt:
      return value.Int();
    case rules::Kind::kDouble:
      return value.Real();
    case rules::Kind::kString:
      return std::string(value.String());
    case rules::Kind::kArray: {
      Json::array_t list;
      const size_t n = value.size();
      list.reserve(n);
      for (size_t i = 0; i < n; ++i) list.push_back(Editable(value.At(i)));
      return list;
    }
    case rules::Kind::kObject: {
      Json::object_t map;
      const size_t n = value.size();
      for (size_t i = 0; i < n; ++i) {
        const auto [name, member] = value.Entry(i);
        map.emplace(std::string(name), Editable(member));
      }
      return map;
    }
  }
  return nullptr;
}

Json Editable(const host::wire::Object& object, const TypeMeta& type) {
  Json j = Editable(object.Root());
  j["kind"] = type.kind;
  j["apiVersion"] = type.api_version;
  return j;
}

ObjectPtr ToFlat(const Json& object) {
  host::wire::DecodeOptions options;
  options.keep_managed_fields = true;
  TypeMeta type;
  Result<ObjectPtr> flat = host::wire::DecodeJson(Dump(object), options, &type);
  if (!flat.ok()) Fail(Untyped("cannot store the object: " + flat.error().message));
  return std::move(*flat);
}

ObjectPtr ToFlat(const Json& object, uint64_t revision) {
  Json copy = object;
  return ToFlatInPlace(&copy, revision);
}

ObjectPtr ToFlatInPlace(Json* object, uint64_t revision) {
  (*object)["metadata"]["resourceVersion"] = std::to_string(revision);
  return ToFlat(*object);
}

Json ParseJson(std::string_view text, std::vector<std::string>* duplicates) {
  Json root;
  TreeBuilder builder(&root, duplicates);
  // The library takes a NUL for the end of the text and would drop what follows.
  const bool cut = text.find('\0') != std::string_view::npos;
  if (cut || !Json::sax_parse(text.begin(), text.end(), &builder)) {
    const std::string syntax = JsonSyntaxError(text);
    if (!syntax.empty()) builder.error = syntax;
    Fail(BadRequest(builder.error.empty() ? "invalid JSON" : builder.error));
  }
  return root;
}

Json ParseYaml(const std::string& text) {
  try {
    return FromYaml(YAML::Load(text), 0);
  } catch (const YAML::Exception& e) {
    Fail(BadRequest(std::string("error converting YAML to JSON: yaml: ") + e.what()));
  }
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* Find(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* name : path) {
    if (!at->is_object()) return nullptr;
    const auto it = at->find(name);
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

std::string TextAt(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = Find(object, path);
  return at != nullptr && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace kcm::devcluster
