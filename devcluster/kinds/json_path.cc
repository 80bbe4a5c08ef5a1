// SPDX-License-Identifier: Apache-2.0
// JSONPath of printer columns (json_path.h).
#include "devcluster/kinds/json_path.h"

#include <charconv>

namespace kcm::devcluster::kinds {

namespace {

constexpr size_t kMaxSteps = 32;

// `'x'` or `"x"` at the front of `text`, taken off it.
std::optional<std::string> TakeQuoted(std::string_view* text) {
  if (text->empty() || (text->front() != '\'' && text->front() != '"')) return std::nullopt;
  const size_t end = text->find(text->front(), 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string out(text->substr(1, end - 1));
  text->remove_prefix(end + 1);
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<JsonPath> JsonPath::Parse(std::string_view text) {
  JsonPath path;
  if (text.starts_with("{") && text.ends_with("}")) text = text.substr(1, text.size() - 2);
  if (text.starts_with("$")) text.remove_prefix(1);
  while (!text.empty()) {
    Step step;
    if (path.steps_.size() >= kMaxSteps) return std::nullopt;
    if (text.front() == '.') {
      text.remove_prefix(1);
      // `\.` is a dot inside of a name.
      while (!text.empty() && text.front() != '.' && text.front() != '[') {
        if (text.starts_with("\\.")) text.remove_prefix(1);
        step.name += text.front();
        text.remove_prefix(1);
      }
      if (step.name.empty()) return std::nullopt;
      if (step.name == "*") step.kind = Step::Kind::kAll;
      path.steps_.push_back(std::move(step));
      continue;
    }
    if (text.front() != '[') return std::nullopt;
    text.remove_prefix(1);
    if (std::optional<std::string> name = TakeQuoted(&text)) {
      step.name = std::move(*name);
    } else if (text.starts_with("?(")) {
      const size_t end = text.find(")]");
      if (end == std::string_view::npos) return std::nullopt;
      std::string_view inner = Trimmed(text.substr(2, end - 2));
      text.remove_prefix(end + 1);
      const size_t equals = inner.find("==");
      if (!inner.starts_with("@.") || equals == std::string_view::npos) return std::nullopt;
      step.kind = Step::Kind::kFilter;
      step.name = Trimmed(inner.substr(2, equals - 2));
      inner = Trimmed(inner.substr(equals + 2));
      const std::optional<std::string> value = TakeQuoted(&inner);
      if (!value || !inner.empty() || step.name.empty()) return std::nullopt;
      step.value = *value;
    } else if (text.starts_with("*")) {
      text.remove_prefix(1);
      step.kind = Step::Kind::kAll;
    } else {
      step.kind = Step::Kind::kIndex;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step.index);
      if (error != std::errc()) return std::nullopt;
      text.remove_prefix(static_cast<size_t>(end - text.data()));
    }
    if (!text.starts_with("]")) return std::nullopt;
    text.remove_prefix(1);
    path.steps_.push_back(std::move(step));
  }
  if (path.steps_.empty()) return std::nullopt;
  return path;
}

std::vector<const Json*> JsonPath::Find(const Json& object) const {
  std::vector<const Json*> now{&object};
  for (const Step& step : steps_) {
    std::vector<const Json*> next;
    for (const Json* at : now) {
      switch (step.kind) {
        case Step::Kind::kMember:
          if (at->is_object() && at->contains(step.name)) next.push_back(&(*at)[step.name]);
          break;
        case Step::Kind::kIndex: {
          if (!at->is_array()) break;
          const auto size = static_cast<int64_t>(at->size());
          const int64_t i = step.index < 0 ? size + step.index : step.index;
          if (i >= 0 && i < size) next.push_back(&(*at)[static_cast<size_t>(i)]);
          break;
        }
        case Step::Kind::kAll:
          if (at->is_structured()) {
            for (const Json& item : *at) next.push_back(&item);
          }
          break;
        case Step::Kind::kFilter:
          if (!at->is_array()) break;
          for (const Json& item : *at) {
            if (item.is_object() && item.contains(step.name) && item[step.name] == step.value)
              next.push_back(&item);
          }
          break;
      }
    }
    now = std::move(next);
  }
  return now;
}

}  // namespace kcm::devcluster::kinds
