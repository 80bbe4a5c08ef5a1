// SPDX-License-Identifier: Apache-2.0
// Functions on texts. Positions count code points, as in the reference.
#include <algorithm>

#include "devcluster/kinds/cel_functions.h"
#include "devcluster/kinds/regex.h"

namespace kcm::devcluster::kinds::cel {

namespace {

using Type = Value::Type;
using Args = std::span<const Value>;

bool Texts(Args args) {
  return std::all_of(args.begin(), args.end(), [](const Value& v) { return v.Is(Type::kString); });
}

bool Pay(Budget& budget, size_t bytes) { return budget.Spend(bytes / 10 + 1); }

// Byte offsets of the code points, and the end.
std::vector<size_t> Starts(const std::string& text) {
  std::vector<size_t> out;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) out.push_back(i);
  }
  out.push_back(text.size());
  return out;
}

int64_t RuneIndex(const std::vector<size_t>& starts, size_t byte) {
  return std::lower_bound(starts.begin(), starts.end(), byte) - starts.begin();
}

std::vector<std::string> Split(const std::string& text, const std::string& by, int64_t limit) {
  std::vector<std::string> out;
  size_t from = 0;
  while (limit < 0 || static_cast<int64_t>(out.size()) + 1 < limit) {
    if (by.empty()) {
      if (from >= text.size()) return out;
      size_t end = from + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
      if (end == text.size()) break;
      out.push_back(text.substr(from, end - from));
      from = end;
      continue;
    }
    const size_t at = text.find(by, from);
    if (at == std::string::npos) break;
    out.push_back(text.substr(from, at - from));
    from = at + by.size();
  }
  out.push_back(text.substr(from));
  return out;
}

template <class Test>
Value Check(Args args, Budget& budget, Test test) {
  if (!Texts(args)) return NoOverload();
  if (!Pay(budget, args[0].text().size())) return Budget::Exceeded();
  return Value::Bool(test(args[0].text(), args[1].text()));
}

Value StartsWith(Args args, Budget& budget) {
  return Check(args, budget, [](const auto& x, const auto& y) { return x.starts_with(y); });
}
Value EndsWith(Args args, Budget& budget) {
  return Check(args, budget, [](const auto& x, const auto& y) { return x.ends_with(y); });
}
Value Contains(Args args, Budget& budget) {
  return Check(args, budget,
               [](const auto& x, const auto& y) { return x.find(y) != std::string::npos; });
}

// Compiles the pattern in args[1] and pays for a search in args[0].
std::optional<Value> Prepare(Args args, Budget& budget, std::optional<Regex>* regex) {
  if (!args[0].Is(Type::kString) || !args[1].Is(Type::kString)) return NoOverload();
  Result<Regex> compiled = Regex::Compile(args[1].text());
  if (!compiled.ok()) return Value::Fail(compiled.error().message);
  if (!budget.Spend(compiled->size() +
                    (args[0].text().size() / 10 + 1) * (compiled->size() / 4 + 1)))
    return Budget::Exceeded();
  *regex = std::move(*compiled);
  return std::nullopt;
}

Value Matches(Args args, Budget& budget) {
  std::optional<Regex> regex;
  if (std::optional<Value> error = Prepare(args, budget, &regex)) return *error;
  return Value::Bool(regex->Matches(args[0].text()));
}

Value FindFirst(Args args, Budget& budget) {
  std::optional<Regex> regex;
  if (std::optional<Value> error = Prepare(args, budget, &regex)) return *error;
  const auto found = regex->Find(args[0].text(), 0);
  return Value::String(found ? args[0].text().substr(found->first, found->second - found->first)
                             : "");
}

Value FindAll(Args args, Budget& budget) {
  std::optional<Regex> regex;
  if (args.size() == 3 && !args[2].Is(Type::kInt)) return NoOverload();
  if (std::optional<Value> error = Prepare(args, budget, &regex)) return *error;
  const int64_t limit = args.size() == 3 ? args[2].whole() : -1;
  const std::string& text = args[0].text();
  List out;
  for (size_t from = 0;
       from <= text.size() && (limit < 0 || static_cast<int64_t>(out.size()) < limit);) {
    const auto found = regex->Find(text, from);
    if (!found) break;
    if (!Pay(budget, (found->second - from) * (regex->size() / 4 + 1))) return Budget::Exceeded();
    out.push_back(Value::String(text.substr(found->first, found->second - found->first)));
    from = found->second > found->first ? found->second : found->second + 1;
  }
  return Value::Of(std::move(out));
}

template <class Change>
Value Mapped(Args args, Budget& budget, Change change) {
  if (!args[0].Is(Type::kString)) return NoOverload();
  if (!Pay(budget, args[0].text().size())) return Budget::Exceeded();
  return Value::String(change(args[0].text()));
}

Value LowerAscii(Args args, Budget& budget) {
  return Mapped(args, budget, [](std::string s) {
    for (char& c : s) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return s;
  });
}
Value UpperAscii(Args args, Budget& budget) {
  return Mapped(args, budget, [](std::string s) {
    for (char& c : s) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    return s;
  });
}
Value Trim(Args args, Budget& budget) {
  return Mapped(args, budget, [](const std::string& s) {
    constexpr const char* kBlanks = " \t\n\r\v\f";
    const size_t a = s.find_first_not_of(kBlanks);
    return a == std::string::npos ? std::string()
                                  : s.substr(a, s.find_last_not_of(kBlanks) - a + 1);
  });
}

Value Replace(Args args, Budget& budget) {
  if (!Texts(args.first(3)) || (args.size() == 4 && !args[3].Is(Type::kInt))) return NoOverload();
  const std::string &text = args[0].text(), &old = args[1].text(), &fresh = args[2].text();
  int64_t limit = args.size() == 4 ? args[3].whole() : -1;
  std::string out;
  size_t from = 0;
  if (!Pay(budget, text.size())) return Budget::Exceeded();
  while (limit != 0) {
    size_t at = 0;
    if (old.empty()) {
      // Between all code points, and at both ends.
      out += fresh;
      if (from >= text.size()) return Value::String(std::move(out));
      at = from + 1;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
      out.append(text, from, at - from);
      from = at;
    } else {
      at = text.find(old, from);
      if (at == std::string::npos) break;
      out.append(text, from, at - from).append(fresh);
      from = at + old.size();
    }
    if (!Pay(budget, fresh.size())) return Budget::Exceeded();
    --limit;
  }
  return Value::String(out.append(text, from, std::string::npos));
}

Value SplitText(Args args, Budget& budget) {
  if (!Texts(args.first(2)) || (args.size() == 3 && !args[2].Is(Type::kInt))) return NoOverload();
  const int64_t limit = args.size() == 3 ? args[2].whole() : -1;
  if (!budget.Spend(args[0].text().size() + 1)) return Budget::Exceeded();
  List out;
  if (limit == 0) return Value::Of(std::move(out));
  for (std::string& part : Split(args[0].text(), args[1].text(), limit))
    out.push_back(Value::String(std::move(part)));
  return Value::Of(std::move(out));
}

Value Substring(Args args, Budget& budget) {
  if (!args[0].Is(Type::kString) || !args[1].Is(Type::kInt) ||
      (args.size() == 3 && !args[2].Is(Type::kInt)))
    return NoOverload();
  if (!Pay(budget, args[0].text().size())) return Budget::Exceeded();
  const std::vector<size_t> starts = Starts(args[0].text());
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  const int64_t from = args[1].whole(), to = args.size() == 3 ? args[2].whole() : count;
  if (from < 0 || from > count) return Value::Fail("index out of range: " + std::to_string(from));
  if (to < 0 || to > count) return Value::Fail("index out of range: " + std::to_string(to));
  if (from > to)
    return Value::Fail("invalid substring range. start: " + std::to_string(from) +
                       ", end: " + std::to_string(to));
  const size_t a = starts[static_cast<size_t>(from)], b = starts[static_cast<size_t>(to)];
  return Value::String(args[0].text().substr(a, b - a));
}

Value CharAt(Args args, Budget& budget) {
  if (!args[0].Is(Type::kString) || !args[1].Is(Type::kInt)) return NoOverload();
  if (!Pay(budget, args[0].text().size())) return Budget::Exceeded();
  const std::vector<size_t> starts = Starts(args[0].text());
  const int64_t at = args[1].whole(), count = static_cast<int64_t>(starts.size()) - 1;
  if (at < 0 || at > count) return Value::Fail("index out of range: " + std::to_string(at));
  if (at == count) return Value::String("");
  const size_t a = starts[static_cast<size_t>(at)], b = starts[static_cast<size_t>(at) + 1];
  return Value::String(args[0].text().substr(a, b - a));
}

Value Join(Args args, Budget& budget) {
  if (!args[0].Is(Type::kList) || (args.size() == 2 && !args[1].Is(Type::kString)))
    return NoOverload();
  const std::string by = args.size() == 2 ? args[1].text() : "";
  std::string out;
  for (size_t i = 0; i < args[0].size(); ++i) {
    const Value v = args[0].At(i);
    if (!v.Is(Type::kString)) return NoOverload();
    if (!Pay(budget, v.text().size() + by.size())) return Budget::Exceeded();
    if (i > 0) out += by;
    out += v.text();
  }
  return Value::String(std::move(out));
}

}  // namespace

// indexOf and lastIndexOf of lists are here too: one name is one function.
static Value Position(Args args, Budget& budget, bool last) {
  if (args[0].Is(Type::kList)) {
    uint64_t cost = 0;
    int64_t found = -1;
    for (size_t i = 0; i < args[0].size() && (last || found < 0); ++i) {
      if (Equal(args[0].At(i), args[1], &cost)) found = static_cast<int64_t>(i);
    }
    return budget.Spend(cost) ? Value::Int(found) : Budget::Exceeded();
  }
  if (!Texts(args.first(2)) || (args.size() == 3 && !args[2].Is(Type::kInt))) return NoOverload();
  const std::string& text = args[0].text();
  if (!Pay(budget, text.size())) return Budget::Exceeded();
  const std::vector<size_t> starts = Starts(text);
  size_t from = last ? std::string::npos : 0;
  if (args.size() == 3) {
    const int64_t at = args[2].whole();
    if (at < 0 || at >= static_cast<int64_t>(starts.size()))
      return Value::Fail("index out of range: " + std::to_string(at));
    from = starts[static_cast<size_t>(at)];
  }
  const size_t found = last ? text.rfind(args[1].text(), from) : text.find(args[1].text(), from);
  return Value::Int(found == std::string::npos ? -1 : RuneIndex(starts, found));
}

std::span<const Function> TextFunctions() {
  static constexpr Function kFunctions[] = {
      {"startsWith", true, 2, 2, Type::kBool, StartsWith},
      {"endsWith", true, 2, 2, Type::kBool, EndsWith},
      {"contains", true, 2, 2, Type::kBool, Contains},
      {"matches", true, 2, 2, Type::kBool, Matches},
      {"matches", false, 2, 2, Type::kBool, Matches},
      {"find", true, 2, 2, Type::kString, FindFirst},
      {"findAll", true, 2, 3, Type::kList, FindAll},
      {"lowerAscii", true, 1, 1, Type::kString, LowerAscii},
      {"upperAscii", true, 1, 1, Type::kString, UpperAscii},
      {"trim", true, 1, 1, Type::kString, Trim},
      {"replace", true, 3, 4, Type::kString, Replace},
      {"split", true, 2, 3, Type::kList, SplitText},
      {"substring", true, 2, 3, Type::kString, Substring},
      {"charAt", true, 2, 2, Type::kString, CharAt},
      {"join", true, 1, 2, Type::kString, Join},
      {"indexOf", true, 2, 3, Type::kInt,
       [](Args args, Budget& b) { return Position(args, b, false); }},
      {"lastIndexOf", true, 2, 3, Type::kInt,
       [](Args args, Budget& b) { return Position(args, b, true); }},
  };
  return kFunctions;
}

}  // namespace kcm::devcluster::kinds::cel
