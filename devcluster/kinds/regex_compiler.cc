// SPDX-License-Identifier: Apache-2.0
// Patterns become a small program.
#include <algorithm>
#include <array>
#include <memory>

#include "devcluster/kinds/regex.h"
#include "devcluster/kinds/regex_text.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr size_t kMaxPattern = 4096, kMaxProgram = 20'000;
constexpr int kMaxCount = 1000, kMaxGroupDepth = 100;
constexpr char32_t kMaxRune = 0x10ffff;

}  // namespace

// Recursive descent into a tree, then code for the tree.
class RegexCompiler {
 public:
  explicit RegexCompiler(std::string_view pattern) : text_(pattern) {}

  Result<Regex> Run() {
    if (text_.size() > kMaxPattern) return Bad("expression too large");
    NodePtr root = Alternation(0);
    if (error_.empty() && at_ < text_.size()) error_ = "unexpected ): `" + std::string(text_) + "`";
    if (!error_.empty()) return Bad(error_);
    Emit(*root);
    Add(Regex::Step::Op::kMatch);
    if (Full()) return Bad("expression too large");
    return std::move(out_);
  }

 private:
  struct Node {
    enum class Kind : uint8_t {
      kEmpty,
      kSet,
      kAssert,
      kSequence,
      kChoice,
      kRepeat
    } kind = Kind::kEmpty;
    uint32_t value = 0;  // set or assertion
    int min = 0, max = -1;
    bool lazy = false;
    std::vector<std::unique_ptr<Node>> parts;
  };
  using NodePtr = std::unique_ptr<Node>;
  using Set = Regex::Set;

  static Result<Regex> Bad(const std::string& why) {
    return MakeError(Code::kInvalid, "error parsing regexp: " + why);
  }
  void Fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }
  bool More() const { return error_.empty() && at_ < text_.size(); }
  bool Take(char c) {
    if (!More() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  static NodePtr Make(Node::Kind kind) {
    auto n = std::make_unique<Node>();
    n->kind = kind;
    return n;
  }
  NodePtr OfSet(Set set) {
    if (fold_) {
      const std::vector<std::pair<char32_t, char32_t>> ranges = set.ranges;
      for (const auto& [from, to] : ranges) {
        const auto add = [&](char32_t low, char32_t high, int shift) {
          const char32_t a = std::max(from, low), b = std::min(to, high);
          if (a <= b)
            set.ranges.emplace_back(a + static_cast<char32_t>(shift),
                                    b + static_cast<char32_t>(shift));
        };
        add('a', 'z', 'A' - 'a');
        add('A', 'Z', 'a' - 'A');
      }
    }
    NodePtr n = Make(Node::Kind::kSet);
    n->value = static_cast<uint32_t>(out_.sets_.size());
    out_.sets_.push_back(std::move(set));
    return n;
  }
  static NodePtr OfAssertion(uint32_t which) {
    NodePtr n = Make(Node::Kind::kAssert);
    n->value = which;
    return n;
  }

  NodePtr Alternation(int depth) {
    if (depth > kMaxGroupDepth) Fail("expression nests too deeply");
    const bool fold = fold_, dot_all = dot_all_, lines = lines_;
    NodePtr choice = Make(Node::Kind::kChoice);
    if (!error_.empty()) return choice;
    do choice->parts.push_back(Sequence(depth));
    while (Take('|'));
    fold_ = fold, dot_all_ = dot_all, lines_ = lines;  // flags end with their group
    return choice->parts.size() == 1 ? std::move(choice->parts[0]) : std::move(choice);
  }

  NodePtr Sequence(int depth) {
    NodePtr sequence = Make(Node::Kind::kSequence);
    while (More() && text_[at_] != '|' && text_[at_] != ')') {
      if (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?') {
        Fail("missing argument to repetition operator: `" + std::string(1, text_[at_]) + "`");
        break;
      }
      sequence->parts.push_back(Repeated(Atom(depth), 0));
    }
    return sequence;
  }

  bool Number(int* n) {
    const size_t start = at_;
    *n = 0;
    while (More() && text_[at_] >= '0' && text_[at_] <= '9' && *n <= kMaxCount)
      *n = *n * 10 + (text_[at_++] - '0');
    return at_ > start;
  }

  // {n}, {n,}, {n,m}; anything else after the brace is a literal.
  bool Counts(int* min, int* max) {
    const size_t start = at_;
    if (Take('{') && Number(min)) {
      *max = *min;
      if (Take(',') && !Number(max)) *max = -1;
      if (Take('}')) {
        if (*min > kMaxCount || *max > kMaxCount || (*max >= 0 && *max < *min))
          Fail("invalid repeat count: `" + std::string(text_.substr(start, at_ - start)) + "`");
        return true;
      }
    }
    at_ = start;
    return false;
  }

  NodePtr Repeated(NodePtr atom, int already) {
    int min = 0, max = -1;
    if (!More()) return atom;
    if (Take('*')) {
    } else if (Take('+')) {
      min = 1;
    } else if (Take('?')) {
      max = 1;
    } else if (!Counts(&min, &max)) {
      return atom;
    }
    if (already > 0) {
      Fail("invalid nested repetition operator");
      return atom;
    }
    NodePtr n = Make(Node::Kind::kRepeat);
    n->min = min;
    n->max = max;
    n->lazy = Take('?');
    n->parts.push_back(std::move(atom));
    return Repeated(std::move(n), already + 1);
  }

  NodePtr Group(int depth) {
    if (!Take('?')) return Close(Alternation(depth + 1));
    if (Take('P') || (More() && text_[at_] == '<')) {
      if (!Take('<')) Fail("invalid or unsupported Perl syntax: `(?P`");
      const size_t end = text_.find('>', at_);
      if (end == std::string_view::npos) Fail("invalid named capture");
      if (!error_.empty()) return Make(Node::Kind::kEmpty);
      at_ = end + 1;
      return Close(Alternation(depth + 1));
    }
    bool on = true;
    const bool fold = fold_, dot_all = dot_all_, lines = lines_;
    while (More() && text_[at_] != ':' && text_[at_] != ')') {
      const char c = text_[at_++];
      if (c == '-') {
        on = false;
      } else if (c == 'i') {
        fold_ = on;
      } else if (c == 's') {
        dot_all_ = on;
      } else if (c == 'm') {
        lines_ = on;
      } else if (c != 'U') {
        Fail("invalid or unsupported Perl syntax: `(?" + std::string(1, c) + "`");
      }
    }
    if (Take(')')) return Make(Node::Kind::kEmpty);  // holds until the group around it ends
    Take(':');
    NodePtr inner = Close(Alternation(depth + 1));
    fold_ = fold, dot_all_ = dot_all, lines_ = lines;
    return inner;
  }

  NodePtr Close(NodePtr inner) {
    if (!Take(')')) Fail("missing closing ): `" + std::string(text_) + "`");
    return inner;
  }

  NodePtr Atom(int depth) {
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      return Group(depth);
    }
    if (c == '[') {
      ++at_;
      return OfSet(Class());
    }
    if (c == '.') {
      ++at_;
      Set any;
      if (!dot_all_) any.ranges.emplace_back('\n', '\n');
      any.negated = true;
      return OfSet(std::move(any));
    }
    if (c == '^' || c == '$') {
      ++at_;
      return OfAssertion(c == '^' ? (lines_ ? kLineBegin : kBegin) : (lines_ ? kLineEnd : kEnd));
    }
    if (c == '\\') {
      ++at_;
      if (Take('A')) return OfAssertion(kBegin);
      if (Take('z')) return OfAssertion(kEnd);
      if (Take('b')) return OfAssertion(kWordEdge);
      if (Take('B')) return OfAssertion(kNotWordEdge);
      Set set;
      Escape(&set);
      return OfSet(std::move(set));
    }
    const auto [rune, length] = RuneAt(text_, at_);
    at_ += length;
    Set set;
    set.ranges.emplace_back(rune, rune);
    return OfSet(std::move(set));
  }

  static void AddNegated(std::vector<std::pair<char32_t, char32_t>> ranges, Set* into) {
    std::sort(ranges.begin(), ranges.end());
    char32_t next = 0;
    for (const auto& [from, to] : ranges) {
      if (from > next) into->ranges.emplace_back(next, from - 1);
      next = std::max(next, static_cast<char32_t>(to + 1));
    }
    if (next <= kMaxRune) into->ranges.emplace_back(next, kMaxRune);
  }

  // What stands after a backslash, outside and inside of classes.
  void Escape(Set* set) {
    if (!More()) return Fail("trailing backslash at end of expression: ``");
    const auto [c, length] = RuneAt(text_, at_);
    at_ += length;
    const std::vector<std::pair<char32_t, char32_t>> digits = {{'0', '9'}},
                                                     words = {{'0', '9'},
                                                              {'A', 'Z'},
                                                              {'_', '_'},
                                                              {'a', 'z'}},
                                                     blanks = {
                                                         {'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
    const auto add = [&](const auto& ranges) {
      set->ranges.insert(set->ranges.end(), ranges.begin(), ranges.end());
    };
    switch (c) {
      case 'd':
        return add(digits);
      case 'w':
        return add(words);
      case 's':
        return add(blanks);
      case 'D':
        return AddNegated(digits, set);
      case 'W':
        return AddNegated(words, set);
      case 'S':
        return AddNegated(blanks, set);
      case 'n':
        return Single('\n', set);
      case 't':
        return Single('\t', set);
      case 'r':
        return Single('\r', set);
      case 'f':
        return Single('\f', set);
      case 'v':
        return Single('\v', set);
      case 'a':
        return Single('\a', set);
      case 'x':
        return Hex(set);
      default:
        break;
    }
    if (c < 0x80 && IsWordAt(std::string(1, static_cast<char>(c)), 0) && c != '_')
      return Fail("invalid escape sequence: `\\" + std::string(1, static_cast<char>(c)) + "`");
    Single(c, set);
  }
  static void Single(char32_t c, Set* set) { set->ranges.emplace_back(c, c); }

  void Hex(Set* set) {
    const bool braces = Take('{');
    char32_t value = 0;
    int digits = 0;
    const int most = braces ? 6 : 2;
    for (; More() && digits < most; ++digits, ++at_) {
      const char c = text_[at_];
      const int d = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
      if (d < 0) break;
      value = value * 16 + static_cast<char32_t>(d);
    }
    if (digits == 0 || (!braces && digits < 2) || (braces && !Take('}')) || value > kMaxRune)
      return Fail("invalid escape sequence: `\\x`");
    Single(value, set);
  }

  bool Named(Set* set) {
    static const std::array<std::pair<std::string_view, std::vector<std::pair<char32_t, char32_t>>>,
                            8>* const kNames =
        new std::array<std::pair<std::string_view, std::vector<std::pair<char32_t, char32_t>>>, 8>{{
            {"[:alpha:]", {{'A', 'Z'}, {'a', 'z'}}},
            {"[:digit:]", {{'0', '9'}}},
            {"[:alnum:]", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
            {"[:upper:]", {{'A', 'Z'}}},
            {"[:lower:]", {{'a', 'z'}}},
            {"[:space:]", {{'\t', '\r'}, {' ', ' '}}},
            {"[:punct:]", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
            {"[:xdigit:]", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
        }};
    for (const auto& [name, ranges] : *kNames) {
      if (text_.substr(at_, name.size()) != name) continue;
      at_ += name.size();
      set->ranges.insert(set->ranges.end(), ranges.begin(), ranges.end());
      return true;
    }
    return false;
  }

  Set Class() {
    Set set;
    set.negated = Take('^');
    for (bool first = true;; first = false) {
      if (!More()) {
        Fail("missing closing ]: `" + std::string(text_) + "`");
        return set;
      }
      if (text_[at_] == ']' && !first) {
        ++at_;
        return set;
      }
      if (Named(&set)) continue;
      const size_t before = set.ranges.size();
      One(&set);
      const bool single =
          set.ranges.size() == before + 1 && set.ranges.back().first == set.ranges.back().second;
      if (!single || !More() || text_[at_] != '-' || text_.substr(at_ + 1, 1) == "]") continue;
      ++at_;
      Set high;
      if (!More()) continue;
      One(&high);
      if (!error_.empty()) return set;
      const char32_t from = set.ranges.back().first;
      if (high.ranges.size() != 1 || high.ranges[0].first != high.ranges[0].second ||
          high.ranges[0].first < from) {
        Fail("invalid character class range");
        return set;
      }
      set.ranges.back().second = high.ranges[0].second;
    }
  }

  // One member of a class.
  void One(Set* set) {
    if (Take('\\')) return Escape(set);
    const auto [rune, length] = RuneAt(text_, at_);
    at_ += length;
    Single(rune, set);
  }

  // ---- code ----
  uint32_t Add(Regex::Step::Op op, uint32_t a = 0, uint32_t b = 0) {
    if (out_.program_.size() <= kMaxProgram) out_.program_.push_back({op, a, b});
    return static_cast<uint32_t>(out_.program_.size() - 1);
  }
  uint32_t Here() const { return static_cast<uint32_t>(out_.program_.size()); }
  // Repeated empty groups add no step: the visits are bounded too.
  bool Full() const { return out_.program_.size() > kMaxProgram || visits_ > 4 * kMaxProgram; }

  void Split(uint32_t at, uint32_t inside, uint32_t after, bool lazy) {
    if (Full()) return;
    out_.program_[at].a = lazy ? after : inside;
    out_.program_[at].b = lazy ? inside : after;
  }

  void Emit(const Node& n) {
    using Op = Regex::Step::Op;
    ++visits_;
    if (Full()) return;
    switch (n.kind) {
      case Node::Kind::kEmpty:
        return;
      case Node::Kind::kSet:
        Add(Op::kSet, n.value);
        return;
      case Node::Kind::kAssert:
        Add(Op::kAssert, n.value);
        return;
      case Node::Kind::kSequence:
        for (const NodePtr& part : n.parts) Emit(*part);
        return;
      case Node::Kind::kChoice: {
        std::vector<uint32_t> ends;
        for (size_t i = 0; i < n.parts.size(); ++i) {
          const bool last = i + 1 == n.parts.size();
          const uint32_t split = last ? 0 : Add(Op::kSplit);
          Emit(*n.parts[i]);
          if (last) break;
          ends.push_back(Add(Op::kJump));
          Split(split, split + 1, Here(), false);
        }
        for (const uint32_t end : ends) {
          if (!Full()) out_.program_[end].a = Here();
        }
        return;
      }
      case Node::Kind::kRepeat:
        break;
    }
    const Node& body = *n.parts[0];
    for (int i = 0; i < n.min && !Full(); ++i) Emit(body);
    if (n.max < 0) {
      const uint32_t split = Add(Op::kSplit);
      Emit(body);
      Add(Op::kJump, split);
      Split(split, split + 1, Here(), n.lazy);
      return;
    }
    std::vector<uint32_t> splits;
    for (int i = n.min; i < n.max && !Full(); ++i) {
      splits.push_back(Add(Op::kSplit));
      Emit(body);
    }
    for (const uint32_t split : splits) Split(split, split + 1, Here(), n.lazy);
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
  size_t visits_ = 0;
  bool fold_ = false, dot_all_ = false, lines_ = false;
  Regex out_;
};

Result<Regex> Regex::Compile(std::string_view pattern) { return RegexCompiler(pattern).Run(); }

}  // namespace kcm::devcluster::kinds
