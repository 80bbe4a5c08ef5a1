// SPDX-License-Identifier: Apache-2.0
// Values against schemas, in the API server's words.
#include "devcluster/kinds/custom_schema_rules.h"

#include <algorithm>
#include <cmath>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/fields.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr size_t kMaxErrors = 10;
constexpr uint64_t kRuleCost = 1'000'000;

std::string Shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string TypeOf(const Json& v) {
  if (v.is_object()) return "object";
  if (v.is_array()) return "array";
  if (v.is_string()) return "string";
  if (v.is_boolean()) return "boolean";
  if (v.is_null()) return "null";
  if (v.is_number_integer()) return "integer";
  const double d = v.get<double>();
  return std::floor(d) == d && std::fabs(d) < 9e15 ? "integer" : "number";
}

size_t Runes(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string InBody(const std::string& path, const std::string& what) {
  return (path.empty() ? std::string("<nil>") : path) + " in body " + what;
}

// Items of a list of type map are the same when their keys are.
std::string KeysOf(const Json& item, const Json& keys) {
  std::string out;
  for (const Json& key : keys) {
    if (key.is_string())
      out += Shown(item.is_object() ? item.value(key.get<std::string>(), Json()) : Json()) + "|";
  }
  return out;
}

}  // namespace

std::shared_ptr<const Regex> CustomSchema::Rules::Pattern(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = patterns_.try_emplace(text);
  if (fresh) {
    Result<Regex> regex = Regex::Compile(text);
    if (regex.ok()) it->second = std::make_shared<const Regex>(std::move(*regex));
  }
  return it->second;
}

std::optional<cel::Program> CustomSchema::Rules::Program(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = programs_.try_emplace(text);
  if (fresh) {
    Result<cel::Program> program = cel::Program::Compile(text, {"self", "oldSelf"});
    if (program.ok()) it->second = std::move(*program);
  }
  return it->second;
}

void SchemaCheck::Add(FieldError error) {
  if (errors_.size() < kMaxErrors) errors_.push_back(std::move(error));
}

std::vector<FieldError> SchemaCheck::Run(const Json& schema, const Json& object, const Json* old) {
  Value(schema, object, old, "", 0);
  return std::move(errors_);
}

void SchemaCheck::Value(const Json& schema, const Json& value, const Json* old,
                        const std::string& path, int depth) {
  if (depth > kMaxSchemaDepth || errors_.size() >= kMaxErrors) return;
  // What was there before and stays may be wrong: schemas change under living objects.
  if (old != nullptr && *old == value) return;
  if (value.is_null() && Flag(schema, "nullable")) return;
  if (!Type(schema, value, path)) return;
  if (const Json* allowed = Key(schema, "enum");
      allowed != nullptr && allowed->is_array() &&
      std::find(allowed->begin(), allowed->end(), value) == allowed->end()) {
    std::vector<std::string> names;
    for (const Json& a : *allowed) names.push_back(a.is_string() ? a.get<std::string>() : Shown(a));
    Add(NotSupported(path, Shown(value), names));
  }
  if (value.is_string()) Text(schema, value.get_ref<const std::string&>(), path);
  if (value.is_number()) Number(schema, value, path);
  if (value.is_array()) List(schema, value, old, path, depth);
  if (value.is_object()) Object(schema, value, old, path, depth);
  Combinations(schema, value, path, depth);
  Expressions(schema, value, old, path);
}

bool SchemaCheck::Type(const Json& schema, const Json& value, const std::string& path) {
  const std::string have = TypeOf(value);
  if (Flag(schema, "x-kubernetes-int-or-string")) {
    if (have == "integer" || have == "string") return true;
    Add(InvalidValue(path, GoQuote(have),
                     InBody(path, "must be of type integer,string: " + GoQuote(have))));
    return false;
  }
  const std::string want(kinds::Text(schema, "type"));
  if (want.empty() || want == have || (want == "number" && have == "integer")) return true;
  Add(InvalidValue(path, GoQuote(have),
                   InBody(path, "must be of type " + want + ": " + GoQuote(have))));
  return false;
}

void SchemaCheck::Text(const Json& schema, const std::string& value, const std::string& path) {
  const auto length = static_cast<int64_t>(Runes(value));
  if (const int64_t most = Integer(schema, "maxLength", -1); most >= 0 && length > most)
    Add(TooLong(path, most));
  if (const int64_t least = Integer(schema, "minLength", -1); length < least)
    Add(InvalidValue(path, GoQuote(value),
                     InBody(path, "should be at least " + std::to_string(least) + " chars long")));
  if (const std::string pattern(kinds::Text(schema, "pattern")); !pattern.empty()) {
    const std::shared_ptr<const Regex> regex = pattern_(pattern);
    if (regex && !regex->Matches(value))
      Add(InvalidValue(path, GoQuote(value), InBody(path, "should match '" + pattern + "'")));
  }
  if (kinds::Text(schema, "format") == "date-time" && !rules::ParseTime(value))
    Add(InvalidValue(path, GoQuote(value),
                     InBody(path, "must be of type date-time: " + GoQuote(value))));
}

void SchemaCheck::Number(const Json& schema, const Json& value, const std::string& path) {
  const double v = value.get<double>();
  const auto bound = [&](const char* name) -> std::optional<double> {
    const Json* b = Key(schema, name);
    return b != nullptr && b->is_number() ? std::optional(b->get<double>()) : std::nullopt;
  };
  if (const auto least = bound("minimum")) {
    const bool exclusive = Flag(schema, "exclusiveMinimum");
    if (exclusive ? v <= *least : v < *least)
      Add(InvalidValue(
          path, Shown(value),
          InBody(path, std::string("should be greater than ") + (exclusive ? "" : "or equal to ") +
                           Shown(*Key(schema, "minimum")))));
  }
  if (const auto most = bound("maximum")) {
    const bool exclusive = Flag(schema, "exclusiveMaximum");
    if (exclusive ? v >= *most : v > *most)
      Add(InvalidValue(
          path, Shown(value),
          InBody(path, std::string("should be less than ") + (exclusive ? "" : "or equal to ") +
                           Shown(*Key(schema, "maximum")))));
  }
  if (const auto step = bound("multipleOf");
      step && *step > 0 && std::fabs(std::remainder(v, *step)) > 1e-9)
    Add(InvalidValue(path, Shown(value),
                     InBody(path, "should be a multiple of " + Shown(*Key(schema, "multipleOf")))));
  if (kinds::Text(schema, "format") == "int32" && (v < -2147483648.0 || v > 2147483647.0))
    Add(InvalidValue(path, Shown(value),
                     InBody(path, "must be of type int32: " + GoQuote(Shown(value)))));
}

void SchemaCheck::List(const Json& schema, const Json& value, const Json* old,
                       const std::string& path, int depth) {
  const auto size = static_cast<int64_t>(value.size());
  if (const int64_t most = Integer(schema, "maxItems", -1); most >= 0 && size > most)
    Add(TooMany(path, size, most));
  if (const int64_t least = Integer(schema, "minItems", -1); size < least)
    Add(InvalidValue(path, std::to_string(size),
                     InBody(path, "should have at least " + std::to_string(least) + " items")));
  const std::string_view type = kinds::Text(schema, "x-kubernetes-list-type");
  const Json& keys = Items(schema, "x-kubernetes-list-map-keys");
  const bool set = type == "set" || Flag(schema, "uniqueItems");
  const auto key = [&](const Json& item) {
    return type == "map" ? KeysOf(item, keys) : Shown(item);
  };
  std::map<std::string, const Json*> before;
  if (type == "map" && old != nullptr && old->is_array()) {
    for (const Json& item : *old) before[key(item)] = &item;
  }
  std::map<std::string, size_t> seen;
  const Json* items = Key(schema, "items");
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    if ((set || type == "map") && !seen.emplace(key(value[i]), i).second)
      Add(Duplicate(at, Shown(value[i])));
    if (items == nullptr || !items->is_object()) continue;
    const auto was = type == "map" ? before.find(key(value[i])) : before.end();
    Value(*items, value[i], was == before.end() ? nullptr : was->second, at, depth + 1);
  }
}

void SchemaCheck::Object(const Json& schema, const Json& value, const Json* old,
                         const std::string& path, int depth) {
  for (const Json& name : Items(schema, "required")) {
    if (!name.is_string()) continue;
    const auto& text = name.get_ref<const std::string&>();
    if (!value.contains(text)) Add(Required(path.empty() ? text : path + "." + text, ""));
  }
  const auto size = static_cast<int64_t>(value.size());
  if (const int64_t most = Integer(schema, "maxProperties", -1); most >= 0 && size > most)
    Add(TooMany(path, size, most));
  if (const int64_t least = Integer(schema, "minProperties", -1); size < least)
    Add(InvalidValue(
        path, std::to_string(size),
        InBody(path, "should have at least " + std::to_string(least) + " properties")));
  const Json* properties = Key(schema, "properties");
  const Json* additional = Key(schema, "additionalProperties");
  for (const auto& [name, member] : value.items()) {
    const bool system =
        path.empty() && (name == "metadata" || name == "apiVersion" || name == "kind");
    const Json* of = properties == nullptr ? nullptr : Key(*properties, name);
    if (of == nullptr && additional != nullptr && additional->is_object()) of = additional;
    if (of == nullptr || system || !of->is_object()) continue;
    const Json* was = old != nullptr && old->is_object() ? Key(*old, name) : nullptr;
    Value(*of, member, was, path.empty() ? name : path + "." + name, depth + 1);
  }
}

bool SchemaCheck::Fits(const Json& schema, const Json& value, int depth) {
  std::vector<FieldError> kept = std::exchange(errors_, {});
  Value(schema, value, nullptr, "", depth + 1);
  const bool fits = errors_.empty();
  errors_ = std::move(kept);
  return fits;
}

void SchemaCheck::Combinations(const Json& schema, const Json& value, const std::string& path,
                               int depth) {
  for (const Json& part : Items(schema, "allOf")) {
    if (part.is_object()) Value(part, value, nullptr, path, depth + 1);
  }
  const auto count = [&](const char* name) {
    const Json& parts = Items(schema, name);
    return std::count_if(parts.begin(), parts.end(), [&](const Json& part) {
      return part.is_object() && Fits(part, value, depth);
    });
  };
  if (Key(schema, "anyOf") != nullptr && count("anyOf") == 0)
    Add(InvalidValue(path, "\"\"", InBody(path, "must validate at least one schema (anyOf)")));
  if (Key(schema, "oneOf") != nullptr && count("oneOf") != 1)
    Add(InvalidValue(path, "\"\"", InBody(path, "must validate one and only one schema (oneOf)")));
  if (const Json* no = Key(schema, "not");
      no != nullptr && no->is_object() && Fits(*no, value, depth))
    Add(InvalidValue(path, "\"\"", InBody(path, "must not validate the schema (not)")));
}

void SchemaCheck::Expressions(const Json& schema, const Json& value, const Json* old,
                              const std::string& path) {
  for (const Json& rule : Items(schema, "x-kubernetes-validations")) {
    const std::string text(kinds::Text(rule, "rule"));
    const bool transition = text.find("oldSelf") != std::string::npos;
    if (transition && old == nullptr) continue;
    const std::optional<cel::Program> program = program_(text);
    if (!program) continue;
    const uint64_t most = std::min(kRuleCost, cost_left_);
    cel::Budget budget(most);
    const cel::Value v =
        program->Run({{"self", cel::Value::OfJson(value)},
                      {"oldSelf", old == nullptr ? cel::Value::Null() : cel::Value::OfJson(*old)}},
                     budget);
    cost_left_ -= most - budget.left();
    const std::string shown =
        value.is_object() || value.is_array() ? GoQuote(TypeOf(value)) : Shown(value);
    if (v.failed()) {
      Add(InvalidValue(path, shown, v.text() + " evaluating rule: " + text));
      continue;
    }
    if (v.Is(cel::Value::Type::kBool) && v.truth()) continue;
    std::string message(kinds::Text(rule, "message"));
    Add(InvalidValue(path, shown, message.empty() ? "failed rule: " + text : message));
  }
}

}  // namespace kcm::devcluster::kinds
