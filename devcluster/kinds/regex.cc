// SPDX-License-Identifier: Apache-2.0
// Matching: all threads of the program run side by side over the text.
#include "devcluster/kinds/regex.h"

#include <algorithm>

#include "devcluster/kinds/regex_text.h"

namespace kcm::devcluster::kinds {

std::pair<char32_t, size_t> RuneAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const size_t length = lead < 0x80       ? 1
                        : lead >> 5 == 6  ? 2
                        : lead >> 4 == 14 ? 3
                        : lead >> 3 == 30 ? 4
                                          : 0;
  if (length < 2 || at + length > text.size()) return {lead, 1};
  char32_t rune = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(at + i) >> 6 != 2) return {lead, 1};
    rune = rune << 6 | (byte(at + i) & 0x3fU);
  }
  return {rune, length};
}

bool IsWordAt(std::string_view text, size_t at) {
  if (at >= text.size()) return false;
  const char c = text[at];
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

namespace {

bool Holds(uint32_t assertion, std::string_view text, size_t at) {
  switch (assertion) {
    case kBegin:
      return at == 0;
    case kEnd:
      return at == text.size();
    case kLineBegin:
      return at == 0 || text[at - 1] == '\n';
    case kLineEnd:
      return at == text.size() || text[at] == '\n';
    default:
      return ((at > 0 && IsWordAt(text, at - 1)) != IsWordAt(text, at)) == (assertion == kWordEdge);
  }
}

}  // namespace

bool Regex::Set::Has(char32_t c) const {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const auto& r) { return c >= r.first && c <= r.second; }) != negated;
}

std::optional<std::pair<size_t, size_t>> Regex::Find(std::string_view text, size_t from) const {
  struct Thread {
    uint32_t step;
    size_t start;
  };
  std::vector<Thread> now, next;
  std::vector<size_t> seen(program_.size(),
                           SIZE_MAX);  // the position at which a step was last added
  std::vector<uint32_t> stack;
  std::optional<std::pair<size_t, size_t>> found;
  // Follows everything that needs no character, preferred ways first.
  const auto add = [&](std::vector<Thread>* into, uint32_t step, size_t start, size_t at) {
    stack.assign(1, step);
    while (!stack.empty()) {
      const uint32_t s = stack.back();
      stack.pop_back();
      if (seen[s] == at) continue;
      seen[s] = at;
      const Step& x = program_[s];
      if (x.op == Step::Op::kJump) {
        stack.push_back(x.a);
      } else if (x.op == Step::Op::kSplit) {
        stack.push_back(x.b);
        stack.push_back(x.a);
      } else if (x.op == Step::Op::kAssert) {
        if (Holds(x.a, text, at)) stack.push_back(s + 1);
      } else {
        into->push_back({s, start});
      }
    }
  };
  for (size_t at = from;;) {
    if (!found) add(&now, 0, at, at);
    if (now.empty() && found) break;
    const bool end = at >= text.size();
    const auto [rune, length] = end ? std::pair<char32_t, size_t>{0, 1} : RuneAt(text, at);
    next.clear();
    for (const Thread& t : now) {
      const Step& x = program_[t.step];
      if (x.op == Step::Op::kMatch) {
        found = {t.start, at};
        break;  // later threads are less preferred
      }
      if (!end && sets_[x.a].Has(rune)) add(&next, t.step + 1, t.start, at + length);
    }
    if (end) break;
    at += length;
    std::swap(now, next);
  }
  return found;
}

}  // namespace kcm::devcluster::kinds
