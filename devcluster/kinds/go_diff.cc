// SPDX-License-Identifier: Apache-2.0
// Printing by schema, and a line diff by longest common subsequence.
#include "devcluster/kinds/go_diff.h"

#include <algorithm>

namespace kcm::devcluster::kinds {

namespace {

constexpr size_t kMaxLines = 2000;
constexpr size_t kContext = 3;
constexpr int kMaxDiffDepth = 60;

using Lines = std::vector<std::string>;

std::string GoName(const std::string& member) {
  for (const auto& [json, go] : {std::pair{"uid", "UID"}, std::pair{"apiGroup", "APIGroup"},
                                 std::pair{"apiVersion", "APIVersion"}, std::pair{"tty", "TTY"},
                                 std::pair{"fsType", "FSType"}, std::pair{"ip", "IP"}}) {
    if (member == json) return go;
  }
  std::string out = member;
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// Appends the lines of a value; `head` starts its first line, `tail` ends its last.
void Print(const Json* value, const Field& field, const std::string& head,
           const std::string& indent, const char* tail, int depth, Lines* out);

void PrintObject(const Json& value, const Message& message, const std::string& head,
                 const std::string& indent, const char* tail, int depth, Lines* out) {
  out->push_back(head + "{");
  for (size_t i = 0; i < message.fields.size(); ++i) {
    const Field& f = message.fields[i];
    const auto it = value.find(f.name);
    const bool absent = it == value.end() || it->is_null();
    Print(absent ? nullptr : &*it, f, indent + " \"" + GoName(f.name) + "\": ", indent + " ",
          i + 1 < message.fields.size() ? "," : "", depth + 1, out);
  }
  out->push_back(indent + "}" + tail);
}

void PrintScalar(const Json* value, const Field& field, const std::string& head, const char* tail,
                 Lines* out) {
  std::string text = "null";
  if (value != nullptr) {
    text = value->dump(-1, ' ', false, Json::error_handler_t::replace);
  } else if (!field.pointer && field.type == Field::Type::kString) {
    text = "\"\"";
  } else if (!field.pointer && field.type == Field::Type::kBool) {
    text = "false";
  } else if (!field.pointer && field.type != Field::Type::kMessage &&
             field.type != Field::Type::kBytes) {
    text = "0";
  }
  out->push_back(head + text + tail);
}

void Print(const Json* value, const Field& field, const std::string& head,
           const std::string& indent, const char* tail, int depth, Lines* out) {
  const bool plain = field.message != nullptr && field.message->form == Message::Form::kPlain;
  if (depth > kMaxDiffDepth) return;
  if (field.map || field.repeated) {
    if (value == nullptr || value->empty()) {
      out->push_back(head + "null" + tail);
      return;
    }
    out->push_back(head + (field.map ? "{" : "["));
    Field item = field;
    item.map = item.repeated = false;
    size_t left = value->size();
    for (const auto& [key, entry] : value->items()) {
      const std::string start = indent + " " + (field.map ? Json(key).dump() + ": " : "");
      Print(&entry, item, start, indent + " ", --left > 0 ? "," : "", depth + 1, out);
    }
    out->push_back(indent + (field.map ? "}" : "]") + tail);
  } else if (plain && (value != nullptr || !field.pointer)) {
    const Json none = Json::object();
    PrintObject(value == nullptr ? none : *value, *field.message, head, indent, tail, depth, out);
  } else {
    PrintScalar(value, field, head, tail, out);
  }
}

struct Edit {
  char kind;  // ' ', '-', '+'
  const std::string* line;
};

std::vector<Edit> Edits(const Lines& a, const Lines& b) {
  size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  const size_t n = a.size() - head, m = b.size() - head;
  std::vector<std::vector<uint16_t>> common(n + 1, std::vector<uint16_t>(m + 1, 0));
  for (size_t i = n; i-- > 0;) {
    for (size_t k = m; k-- > 0;) {
      common[i][k] = a[head + i] == b[head + k] ? static_cast<uint16_t>(common[i + 1][k + 1] + 1)
                                                : std::max(common[i + 1][k], common[i][k + 1]);
    }
  }
  std::vector<Edit> out;
  for (size_t i = 0; i < head; ++i) out.push_back({' ', &a[i]});
  size_t i = 0, k = 0;
  while (i < n || k < m) {
    if (i < n && k < m && a[head + i] == b[head + k]) {
      out.push_back({' ', &a[head + i]});
      ++i;
      ++k;
    } else if (i < n && (k == m || common[i + 1][k] >= common[i][k + 1])) {
      out.push_back({'-', &a[head + i++]});
    } else {
      out.push_back({'+', &b[head + k++]});
    }
  }
  return out;
}

}  // namespace

std::string GoDiff(const Json& before, const Json& after, const Message& message) {
  Lines a, b;
  PrintObject(before, message, "", "", "", 0, &a);
  PrintObject(after, message, "", "", "", 0, &b);
  if (a.size() > kMaxLines || b.size() > kMaxLines) return "";
  const std::vector<Edit> edits = Edits(a, b);
  std::string out;
  size_t at = 0, line_a = 1, line_b = 1;
  while (at < edits.size()) {
    size_t first = at;
    while (first < edits.size() && edits[first].kind == ' ') ++first;
    if (first == edits.size()) break;
    size_t last = first;  // of the hunk's changes; a gap of six equal lines ends it
    for (size_t i = first; i < edits.size() && i <= last + 2 * kContext; ++i) {
      if (edits[i].kind != ' ') last = i;
    }
    const size_t begin = std::max(at, first > kContext ? first - kContext : 0);
    const size_t end = std::min(edits.size(), last + kContext + 1);
    line_a += begin - at;
    line_b += begin - at;
    std::string body;
    size_t count_a = 0, count_b = 0;
    for (size_t i = begin; i < end; ++i) {
      count_a += edits[i].kind != '+' ? 1 : 0;
      count_b += edits[i].kind != '-' ? 1 : 0;
      body += edits[i].kind + *edits[i].line + "\n";
    }
    out += "@@ -" + std::to_string(line_a) + "," + std::to_string(count_a) + " +" +
           std::to_string(line_b) + "," + std::to_string(count_b) + " @@\n" + body;
    line_a += count_a;
    line_b += count_b;
    at = end;
  }
  return out;
}

}  // namespace kcm::devcluster::kinds
