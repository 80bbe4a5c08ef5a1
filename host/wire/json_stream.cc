// SPDX-License-Identifier: Apache-2.0
// JSON lists and watches as streams: a small scanner finds where an object ends, simdjson parses
// each one. What a list has besides its items (kind, metadata) is collected apart and parsed at the
// end.
#include <string>
#include <utility>

#include "host/wire/json_reader.h"
#include "host/wire/limits.h"
#include "host/wire/schema.h"

namespace kcm::host::wire {
namespace {

constexpr size_t kMaxShell = size_t{1} << 20;  // of a list without its items

Error BadJson(std::string_view what) { return MakeError(Code::kInvalid, std::string(what)); }

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Finds the end of one JSON object that comes in portions. The parser judges what is inside.
class ObjectScanner {
 public:
  void Reset() { *this = ObjectScanner(); }
  bool done() const { return done_; }
  bool too_deep() const { return depth_ > kMaxDepth; }

  // REQUIRES: the object's first byte is '{'. Returns how many bytes belong to it; less than all
  // when done().
  size_t Feed(std::string_view bytes) {
    size_t i = 0;
    while (i < bytes.size() && !done_ && !too_deep()) {
      i = in_string_ ? InString(bytes, i) : Outside(bytes, i);
    }
    return i;
  }

 private:
  size_t InString(std::string_view bytes, size_t i) {
    for (; i < bytes.size(); ++i) {
      const char c = bytes[i];
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        return i + 1;
      }
    }
    return i;
  }

  size_t Outside(std::string_view bytes, size_t i) {
    for (; i < bytes.size(); ++i) {
      const char c = bytes[i];
      if (c == '"') {
        in_string_ = true;
        return i + 1;
      }
      if (c == '{' || c == '[') {
        if (++depth_ > kMaxDepth) return i + 1;
      } else if (c == '}' || c == ']') {
        if (--depth_ == 0) {
          done_ = true;
          return i + 1;
        }
      }
    }
    return i;
  }

  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool done_ = false;
};

// One object out of a stream. A complete object inside one portion is not copied.
class ObjectCollector {
 public:
  enum class State : uint8_t { kMore, kComplete, kTooLarge };

  // Takes bytes off the front of `rest`; when kComplete, `object` is valid until the next call.
  State Take(std::string_view* rest, std::string_view* object) {
    if (complete_) {
      complete_ = false;
      text_.clear();
      scanner_.Reset();
    }
    const size_t used = scanner_.Feed(*rest);
    const std::string_view part = rest->substr(0, used);
    rest->remove_prefix(used);
    if (scanner_.too_deep() || text_.size() + part.size() > kMaxPart) return State::kTooLarge;
    if (!scanner_.done()) {
      text_.append(part);
      return State::kMore;
    }
    complete_ = true;
    if (text_.empty()) {
      *object = part;
    } else {
      text_.append(part);
      *object = text_;
    }
    return State::kComplete;
  }
  // True while an object has begun and not ended.
  bool inside() const { return !complete_ && !text_.empty(); }

 private:
  ObjectScanner scanner_;
  std::string text_;
  bool complete_ = false;
};

class JsonListDecoder final : public ListDecoder {
 public:
  JsonListDecoder(const DecodeOptions& options, ItemSink sink)
      : reader_(options), shell_reader_({}), sink_(std::move(sink)) {}

  Status Feed(std::string_view bytes) override {
    if (error_.code != Code::kOk) return error_;
    while (!bytes.empty() && error_.code == Code::kOk) {
      switch (state_) {
        case State::kShell:
          Shell(&bytes);
          break;
        case State::kItems:
          Items(&bytes);
          break;
        case State::kItem:
          Item(&bytes);
          break;
      }
    }
    return error_.code == Code::kOk ? Ok() : Status(error_);
  }

  Status Finish() override {
    if (error_.code != Code::kOk) return error_;
    if (state_ != State::kShell || shell_.empty() || depth_ != 0) {
      return BadJson("JSON list ended early: the connection was cut or the body is not a list");
    }
    const Result<ObjectPtr> shell = shell_reader_.Read(shell_, nullptr, &type);
    if (!shell.ok()) return shell.error();
    const Value metadata = (*shell)->Root().Field(known::kMetadata);
    resource_version = std::string(metadata.Field(known::kResourceVersion).String());
    continue_token = std::string(metadata.Field(known::kContinue).String());
    const Value remaining = metadata.Field(known::kRemainingItemCount);
    if (remaining.Has()) remaining_item_count = remaining.Int();
    return Ok();
  }

 private:
  enum class State : uint8_t {
    kShell,  // outside of the items
    kItems,  // in their list, between two
    kItem,   // in one
  };

  // Collects the shell up to the list of items.
  void Shell(std::string_view* bytes) {
    size_t i = 0;
    while (i < bytes->size() && state_ == State::kShell && error_.code == Code::kOk)
      ShellByte((*bytes)[i++]);
    bytes->remove_prefix(i);
  }

  void ShellByte(char c) {
    if (depth_ == 0 && IsSpace(c)) return;
    if (depth_ == 0 && (c != '{' || !shell_.empty())) {
      error_ = BadJson(shell_.empty() ? "JSON list does not begin with an object"
                                      : "JSON list: text behind its end");
      return;
    }
    if (shell_.size() == kMaxShell) {
      error_ = BadJson("JSON list: more than 1 MiB besides its items");
      return;
    }
    shell_ += c;
    if (in_string_) {
      StringByte(c);
      return;
    }
    switch (c) {
      case '"':
        in_string_ = true;
        string_begin_ = shell_.size();
        break;
      case ':':
        if (depth_ == 1) at_items_ = last_string_is_items_;
        break;
      case ',':
        at_items_ = false;
        break;
      case '[':
        if (depth_ == 1 && at_items_) {
          BeginItems();
          break;
        }
        [[fallthrough]];
      case '{':
        if (++depth_ > kMaxDepth) error_ = BadJson("JSON list is nested deeper than 200 levels");
        break;
      case ']':
      case '}':
        --depth_;
        break;
      default:
        break;
    }
  }

  void StringByte(char c) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      last_string_is_items_ =
          depth_ == 1 && shell_.compare(string_begin_, std::string::npos, "items\"") == 0;
    }
  }

  // Kind and apiVersion stand before the items where a server writes them; without them items are
  // read as they come.
  void BeginItems() {
    state_ = State::kItems;
    TypeMeta list;
    if (!shell_reader_.Read(shell_ + "]}", nullptr, &list).ok()) return;
    type = list;
    item_type_ = list;
    if (item_type_.kind.ends_with("List")) item_type_.kind.resize(item_type_.kind.size() - 4);
  }

  void Items(std::string_view* bytes) {
    const char c = bytes->front();
    if (c == '{' && !needs_comma_) {
      state_ = State::kItem;  // the brace is the item's
      return;
    }
    bytes->remove_prefix(1);
    if (IsSpace(c)) return;
    if (c == ']') {
      shell_ += c;
      state_ = State::kShell;
    } else if (c == ',' && needs_comma_) {
      needs_comma_ = false;
    } else {
      error_ = BadJson("JSON list: its items must be objects, separated by commas");
    }
  }

  void Item(std::string_view* bytes) {
    std::string_view text;
    switch (collector_.Take(bytes, &text)) {
      case ObjectCollector::State::kMore:
        return;
      case ObjectCollector::State::kTooLarge:
        error_ = BadJson("JSON list: item is larger than 64 MiB or nested deeper than 200 levels");
        return;
      case ObjectCollector::State::kComplete:
        break;
    }
    state_ = State::kItems;
    needs_comma_ = true;
    Result<ObjectPtr> object = reader_.Read(text, &item_type_, nullptr);
    if (!object.ok()) {
      error_ = object.error();
      return;
    }
    sink_(std::move(*object));
  }

  JsonReader reader_;
  JsonReader shell_reader_;
  const ItemSink sink_;
  ObjectCollector collector_;
  State state_ = State::kShell;
  TypeMeta item_type_;
  std::string shell_;  // the list with "items":[]
  int depth_ = 0;
  size_t string_begin_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool last_string_is_items_ = false;
  bool at_items_ = false;
  bool needs_comma_ = false;
  Error error_{Code::kOk, {}, {}, 0, -1, {}};
};

class JsonWatchDecoder final : public WatchDecoder {
 public:
  explicit JsonWatchDecoder(const DecodeOptions& options) : reader_(options) {}

  Status Feed(std::string_view bytes, std::vector<WatchEvent>* out) override {
    if (error_.code != Code::kOk) return error_;
    while (!bytes.empty()) {
      if (!collector_.inside()) {
        if (IsSpace(bytes.front())) {
          bytes.remove_prefix(1);
          continue;
        }
        if (bytes.front() != '{') return End(BadJson("watch stream: expected an event object"));
      }
      std::string_view text;
      const ObjectCollector::State state = collector_.Take(&bytes, &text);
      if (state == ObjectCollector::State::kMore) break;
      if (state == ObjectCollector::State::kTooLarge) {
        return End(
            BadJson("watch stream: event is larger than 64 MiB or nested deeper than 200 levels"));
      }
      WatchEvent event;
      if (Status read = reader_.ReadEvent(text, &event); !read.ok()) return End(read.error());
      out->push_back(std::move(event));
    }
    return Ok();
  }

  bool AtFrameBoundary() const override { return error_.code == Code::kOk && !collector_.inside(); }

 private:
  Status End(Error error) {
    error_ = std::move(error);
    return error_;
  }

  JsonReader reader_;
  ObjectCollector collector_;
  Error error_{Code::kOk, {}, {}, 0, -1, {}};
};

}  // namespace

std::unique_ptr<ListDecoder> NewJsonListDecoder(DecodeOptions options, ItemSink sink) {
  return std::make_unique<JsonListDecoder>(options, std::move(sink));
}

std::unique_ptr<WatchDecoder> NewJsonWatchDecoder(DecodeOptions options) {
  return std::make_unique<JsonWatchDecoder>(options);
}

}  // namespace kcm::host::wire
