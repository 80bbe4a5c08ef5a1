// SPDX-License-Identifier: Apache-2.0
// Text to value and back for each flag type (spec/host.md 1.1 rules 1 to 4).
#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "host/config/flags.h"
#include "host/config/go_syntax.h"
#include "kcm/rules/go_duration.h"
#include "kcm/rules/go_quote.h"

namespace kcm::host::config {
namespace {

using rules::GoQuote;

template <class T>
Result<FlagValue> Wrap(Result<T> parsed) {
  if (!parsed.ok()) return parsed.error();
  return FlagValue(*std::move(parsed));
}

std::string_view Trim(std::string_view s) {
  const size_t first = s.find_first_not_of(" \t\r\n");
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<FlagValue> ParseIp(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  const std::string trimmed(Trim(text));
  if (inet_pton(AF_INET, trimmed.c_str(), bytes.data()) != 1 &&
      inet_pton(AF_INET6, trimmed.c_str(), bytes.data()) != 1) {
    return MakeError(Code::kInvalid, "failed to parse IP: " + GoQuote(text));
  }
  return FlagValue(trimmed);
}

Result<FlagValue> ParseStrings(const std::string& text, const FlagValue* old) {
  Result<std::vector<std::string>> fields = ParseCsv(text);
  if (!fields.ok()) return fields.error();
  std::vector<std::string> all =
      old != nullptr ? std::get<std::vector<std::string>>(*old) : std::vector<std::string>();
  all.insert(all.end(), fields->begin(), fields->end());
  return FlagValue(std::move(all));
}

Result<FlagValue> AppendWhole(const std::string& text, const FlagValue* old) {
  std::vector<std::string> all =
      old != nullptr ? std::get<std::vector<std::string>>(*old) : std::vector<std::string>();
  if (!text.empty()) all.push_back(text);
  return FlagValue(std::move(all));
}

Result<FlagValue> ParseInts(const std::string& text, const FlagValue* old) {
  std::vector<int64_t> all =
      old != nullptr ? std::get<std::vector<int64_t>>(*old) : std::vector<int64_t>();
  if (text.empty()) return FlagValue(std::move(all));
  for (const std::string& part : Split(text, ',')) {
    const Result<int64_t> value = ParseGoInt(part, 32);
    if (!value.ok()) return value.error();
    all.push_back(*value);
  }
  return FlagValue(std::move(all));
}

void Put(StringPairs* pairs, std::string key, std::string value) {
  for (auto& [k, v] : *pairs) {
    if (k == key) {
      v = std::move(value);
      return;
    }
  }
  pairs->emplace_back(std::move(key), std::move(value));
}

// `a=b,c=d`; the CSV rules apply when there is more than one `=`, as in metric,label='v1,v2'
// written "metric,label=v1,v2".
Result<FlagValue> ParseMap(const std::string& text, const FlagValue* old) {
  StringPairs pairs = old != nullptr ? std::get<StringPairs>(*old) : StringPairs();
  const auto equals = std::count(text.begin(), text.end(), '=');
  if (text.empty()) return FlagValue(std::move(pairs));
  if (equals == 0) return MakeError(Code::kInvalid, text + " must be formatted as key=value");
  std::vector<std::string> parts;
  if (equals == 1) {
    std::string_view whole = Trim(text);
    if (whole.size() > 1 && whole.front() == '"' && whole.back() == '"')
      whole = whole.substr(1, whole.size() - 2);
    parts.emplace_back(whole);
  } else {
    Result<std::vector<std::string>> fields = ParseCsv(text);
    if (!fields.ok()) return fields.error();
    parts = *std::move(fields);
  }
  for (const std::string& part : parts) {
    const size_t at = part.find('=');
    if (at == part.npos) return MakeError(Code::kInvalid, part + " must be formatted as key=value");
    Put(&pairs, part.substr(0, at), part.substr(at + 1));
  }
  return FlagValue(std::move(pairs));
}

// Kept as written, ("kube:Name", "true"), because what is wrong with a gate is a validation error,
// not a parse error.
Result<FlagValue> ParseGates(const std::string& text, const FlagValue* old) {
  StringPairs pairs = old != nullptr ? std::get<StringPairs>(*old) : StringPairs();
  for (const std::string& part : Split(text, ',')) {
    const std::string_view entry = Trim(part);
    if (entry.empty()) continue;
    const size_t at = entry.find('=');
    if (at == entry.npos) {
      pairs.emplace_back(std::string(entry),
                         "\x01");  // marks "no ="; feature_gates.h words the error
    } else {
      Put(&pairs, std::string(Trim(entry.substr(0, at))), std::string(Trim(entry.substr(at + 1))));
    }
  }
  return FlagValue(std::move(pairs));
}

Result<FlagValue> ParseCertKey(const std::string& text, const FlagValue* old) {
  const size_t colon = text.find(':');
  const std::string files = text.substr(0, colon);
  const auto commas = std::count(files.begin(), files.end(), ',');
  if (commas != 1 || files.front() == ',' || files.back() == ',') {
    return MakeError(Code::kInvalid, "expected comma separated certificate and key file paths");
  }
  return AppendWhole(text, old);
}

Result<FlagValue> ParseVModule(const std::string& text) {
  for (const std::string& part : Split(text, ',')) {
    if (part.empty()) continue;  // a trailing comma is harmless
    const size_t at = part.find('=');
    const bool one = at != part.npos && at > 0 && part.find('=', at + 1) == part.npos;
    if (!one)
      return MakeError(Code::kInvalid, GoQuote(part) + " does not have the pattern=N format");
    const Result<int64_t> level = ParseGoUint(part.substr(at + 1), 31);
    if (!level.ok()) {
      return MakeError(Code::kInvalid,
                       "parsing verbosity in " + GoQuote(part) + ": " + level.error().message);
    }
  }
  return FlagValue(text);
}

Result<FlagValue> ParseQuantityText(const std::string& text) {
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) rest.remove_prefix(1);
  const size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
  const std::string_view suffix = rest.substr(digits);
  constexpr std::string_view kSuffixes[] = {"",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                            "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  if (digits == 0 ||
      std::find(std::begin(kSuffixes), std::end(kSuffixes), suffix) == std::end(kSuffixes)) {
    return MakeError(Code::kInvalid,
                     "quantities must match the regular expression "
                     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  return FlagValue(text);
}

std::string FormatPairs(const StringPairs& pairs) {
  StringPairs sorted = pairs;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> fields;
  for (const auto& [key, value] : sorted) fields.push_back(key + "=" + value);
  return FormatCsv(fields);
}

std::string FormatGates(const StringPairs& pairs) {
  StringPairs sorted = pairs;
  std::sort(sorted.begin(), sorted.end());
  std::string out;
  for (const auto& [key, value] : sorted) {
    if (!out.empty()) out += ',';
    // An unprefixed entry belongs to the default component and is shown with an empty prefix.
    out += (key.find(':') == std::string::npos ? ":" : "") + key;
    if (value != "\x01") out += "=" + value;
  }
  return out;
}

}  // namespace

std::string_view TypeWord(FlagType type) {
  switch (type) {
    case FlagType::kBool:
      return "";
    case FlagType::kInt:
      return "int";
    case FlagType::kInt32:
      return "int32";
    case FlagType::kFloat32:
      return "float32";
    case FlagType::kFloat64:
      return "float";
    case FlagType::kDuration:
      return "duration";
    case FlagType::kString:
      return "string";
    case FlagType::kStrings:
      return "strings";
    case FlagType::kStringArray:
      return "stringArray";
    case FlagType::kInt32Slice:
      return "int32Slice";
    case FlagType::kStringMap:
      return "stringToString";
    case FlagType::kFeatureGates:
      return "colonSeparatedMultimapStringString";
    case FlagType::kIp:
      return "ip";
    case FlagType::kCertKeyPairs:
      return "namedCertKey";
    case FlagType::kLevel:
      return "Level";
    case FlagType::kVModule:
      return "pattern=N,...";
    case FlagType::kQuantity:
      return "quantity";
    case FlagType::kVersion:
      return "version[=true]";
  }
  return "";
}

Result<FlagValue> ParseFlagValue(FlagType type, const std::string& text, const FlagValue* old) {
  switch (type) {
    case FlagType::kBool:
      return Wrap(ParseGoBool(text));
    case FlagType::kInt:
      return Wrap(ParseGoInt(text, 64));
    case FlagType::kInt32:
      return Wrap(ParseGoInt(text, 32));
    case FlagType::kFloat32:
      return Wrap(ParseGoFloat(text, 32));
    case FlagType::kFloat64:
      return Wrap(ParseGoFloat(text, 64));
    case FlagType::kDuration:
      return Wrap(rules::ParseDuration(text));
    case FlagType::kString:
    case FlagType::kVersion:
      return FlagValue(text);
    case FlagType::kStrings:
      return ParseStrings(text, old);
    case FlagType::kStringArray:
      return AppendWhole(text, old);
    case FlagType::kInt32Slice:
      return ParseInts(text, old);
    case FlagType::kStringMap:
      return ParseMap(text, old);
    case FlagType::kFeatureGates:
      return ParseGates(text, old);
    case FlagType::kIp:
      return ParseIp(text);
    case FlagType::kCertKeyPairs:
      return ParseCertKey(text, old);
    case FlagType::kLevel:
      return Wrap(ParseGoUint(text, 31));
    case FlagType::kVModule:
      return ParseVModule(text);
    case FlagType::kQuantity:
      return ParseQuantityText(text);
  }
  return MakeError(Code::kInternal, "unknown flag type");
}

std::string FormatFlagValue(FlagType type, const FlagValue& value) {
  switch (type) {
    case FlagType::kBool:
      return std::get<bool>(value) ? "true" : "false";
    case FlagType::kInt:
    case FlagType::kInt32:
    case FlagType::kLevel:
      return std::to_string(std::get<int64_t>(value));
    case FlagType::kFloat32:
    case FlagType::kFloat64:
      return FormatGoFloat(std::get<double>(value));
    case FlagType::kDuration:
      return rules::FormatDuration(std::get<std::chrono::nanoseconds>(value));
    case FlagType::kString:
    case FlagType::kIp:
    case FlagType::kVModule:
    case FlagType::kQuantity:
    case FlagType::kVersion:
      return std::get<std::string>(value);
    case FlagType::kStrings:
    case FlagType::kStringArray:
      return "[" + FormatCsv(std::get<std::vector<std::string>>(value)) + "]";
    case FlagType::kCertKeyPairs: {
      std::string out;
      for (const std::string& pair : std::get<std::vector<std::string>>(value))
        out += (out.empty() ? "" : ";") + pair;
      return out.empty() ? "[]" : out;
    }
    case FlagType::kInt32Slice: {
      std::string out;
      for (const int64_t n : std::get<std::vector<int64_t>>(value))
        out += (out.empty() ? "" : ",") + std::to_string(n);
      return "[" + out + "]";
    }
    case FlagType::kStringMap:
      return "[" + FormatPairs(std::get<StringPairs>(value)) + "]";
    case FlagType::kFeatureGates:
      return FormatGates(std::get<StringPairs>(value));
  }
  return "";
}

}  // namespace kcm::host::config
