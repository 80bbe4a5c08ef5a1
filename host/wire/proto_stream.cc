// SPDX-License-Identifier: Apache-2.0
// Protobuf lists and watches as streams: an item is decoded when its last byte is there, and the
// bytes before it are forgotten.
#include <string>

#include "host/wire/envelope.h"
#include "host/wire/limits.h"
#include "host/wire/proto_reader.h"
#include "host/wire/proto_wire.h"
#include "host/wire/schema.h"

namespace kcm::host::wire {
namespace {

constexpr size_t kMaxHeader = 20;  // a tag and a length

// For a Status: a mask of some other kind names nothing of it.
DecodeOptions WithoutMask(DecodeOptions options) {
  options.mask = nullptr;
  return options;
}

Status BadProtobuf(std::string_view what) { return MakeError(Code::kInvalid, std::string(what)); }

// Bytes that have come and are not used up: the tail of earlier portions, then the newest one.
class Pending {
 public:
  // The bytes to look at, until Keep.
  std::string_view With(std::string_view bytes) {
    if (tail_.empty()) return bytes;
    tail_.append(bytes);
    return tail_;
  }
  // `rest`: the end of what With returned.
  void Keep(std::string_view rest) {
    if (!tail_.empty()) {
      tail_.erase(0, tail_.size() - rest.size());
    } else {
      tail_.assign(rest);
    }
  }
  bool empty() const { return tail_.empty(); }
  void Clear() {
    tail_.clear();
    tail_.shrink_to_fit();
  }

 private:
  std::string tail_;
};

class ProtobufListDecoder final : public ListDecoder {
 public:
  ProtobufListDecoder(std::string_view message, const DecodeOptions& options, ItemSink sink)
      : message_(FindMessage(message)),
        reader_(options),
        metadata_reader_({}),
        sink_(std::move(sink)) {
    if (message_ == kNoMessage) {
      error_ = MakeError(Code::kInvalid,
                         "no protobuf message \"" + std::string(message) + "\": ask for JSON");
    }
  }

  Status Feed(std::string_view bytes) override {
    if (error_.code != Code::kOk) return error_;
    std::string_view rest = pending_.With(bytes);
    Status done = Consume(&rest);
    if (!done.ok()) {
      error_ = done.error();
      pending_.Clear();
      return done;
    }
    pending_.Keep(rest);
    return Ok();
  }

  Status Finish() override {
    if (error_.code != Code::kOk) return error_;
    if (state_ != State::kEnvelope || !saw_list_ || !pending_.empty()) {
      return BadProtobuf(
          "protobuf list ended early: the connection was cut or the body is not a list");
    }
    return Ok();
  }

 private:
  enum class State : uint8_t {
    kMagic,     // waiting for the four bytes
    kEnvelope,  // between fields of runtime.Unknown
    kList,      // inside its field raw, between fields of the list
  };
  enum class Step : uint8_t { kNext, kMore, kBad };

  Status Consume(std::string_view* rest) {
    for (;;) {
      const Step step = state_ == State::kMagic      ? Magic(rest)
                        : state_ == State::kEnvelope ? Envelope(rest)
                                                     : List(rest);
      if (step == Step::kBad) return problem_;
      if (step == Step::kMore) return Ok();
    }
  }

  Step Fail(Status problem) {
    problem_ = std::move(problem);
    return Step::kBad;
  }

  Step Magic(std::string_view* rest) {
    if (rest->substr(0, kMagic.size()) != kMagic.substr(0, rest->size())) {
      return Fail(
          BadProtobuf("list does not begin with the k8s envelope: the answer is not protobuf"));
    }
    if (rest->size() < kMagic.size()) return Step::kMore;
    rest->remove_prefix(kMagic.size());
    state_ = State::kEnvelope;
    return Step::kNext;
  }

  // Reads tag and length of a field with bytes at the front of `rest`, without taking them off.
  Step Header(std::string_view rest, uint32_t* num, uint64_t* size, size_t* header) {
    const char* p = rest.data();
    const char* const end = p + rest.size();
    uint64_t tag = 0;
    if (!ReadVarint(&p, end, &tag) || ((tag & 7) == 2 && !ReadVarint(&p, end, size))) {
      return rest.size() >= kMaxHeader ? Fail(BadProtobuf("protobuf list: malformed field"))
                                       : Step::kMore;
    }
    if ((tag & 7) != 2)
      return Fail(BadProtobuf("protobuf list: field " + std::to_string(tag >> 3) +
                              " has the wrong wire type"));
    *num = static_cast<uint32_t>(tag >> 3);
    *header = static_cast<size_t>(p - rest.data());
    return Step::kNext;
  }

  Step Envelope(std::string_view* rest) {
    if (rest->empty()) return Step::kMore;
    uint32_t num = 0;
    uint64_t size = 0;
    size_t header = 0;
    if (const Step step = Header(*rest, &num, &size, &header); step != Step::kNext) return step;
    if (num == 2) {
      rest->remove_prefix(header);
      left_ = size;
      saw_list_ = true;
      state_ = State::kList;
      return Step::kNext;
    }
    if (size > kMaxPart) return Fail(BadProtobuf("protobuf envelope: field is larger than 64 MiB"));
    if (rest->size() < header + size) return Step::kMore;
    if (num == 1) {
      if (Status read = ReadTypeMeta(rest->substr(header, size), &type); !read.ok())
        return Fail(read);
      item_type_ = type;
      if (item_type_.kind.ends_with("List")) item_type_.kind.resize(item_type_.kind.size() - 4);
    }
    rest->remove_prefix(header + size);
    return Step::kNext;
  }

  Step List(std::string_view* rest) {
    if (left_ == 0) {
      state_ = State::kEnvelope;
      return Step::kNext;
    }
    if (rest->empty()) return Step::kMore;
    uint32_t num = 0;
    uint64_t size = 0;
    size_t header = 0;
    if (const Step step = Header(*rest, &num, &size, &header); step != Step::kNext) return step;
    if (size > kMaxPart) return Fail(BadProtobuf("protobuf list: item is larger than 64 MiB"));
    if (header + size > left_)
      return Fail(BadProtobuf("protobuf list: item is longer than the list"));
    if (rest->size() < header + size) return Step::kMore;
    const std::string_view part = rest->substr(header, size);
    rest->remove_prefix(header + size);
    left_ -= header + size;
    if (num == 1) return Metadata(part);
    if (num != 2) return Step::kNext;
    Result<ObjectPtr> object = reader_.Read(message_, part, &item_type_);
    if (!object.ok()) return Fail(object.error());
    sink_(std::move(*object));
    return Step::kNext;
  }

  Step Metadata(std::string_view part) {
    const Result<ObjectPtr> metadata = metadata_reader_.Read(known::kListMeta, part, nullptr);
    if (!metadata.ok()) return Fail(metadata.error());
    const Value root = (*metadata)->Root();
    resource_version = std::string(root.Field(known::kResourceVersion).String());
    continue_token = std::string(root.Field(known::kContinue).String());
    const Value remaining = root.Field(known::kRemainingItemCount);
    if (remaining.Has()) remaining_item_count = remaining.Int();
    return Step::kNext;
  }

  const MessageIndex message_;
  ProtoReader reader_;
  ProtoReader metadata_reader_;
  const ItemSink sink_;
  Pending pending_;
  State state_ = State::kMagic;
  TypeMeta item_type_;
  uint64_t left_ = 0;  // bytes of raw to come
  bool saw_list_ = false;
  Error error_{Code::kOk, {}, {}, 0, -1, {}};
  Status problem_ = Ok();
};

class ProtobufWatchDecoder final : public WatchDecoder {
 public:
  explicit ProtobufWatchDecoder(const DecodeOptions& options)
      : options_(options), reader_(options) {}

  Status Feed(std::string_view bytes, std::vector<WatchEvent>* out) override {
    if (error_.code != Code::kOk) return error_;
    std::string_view rest = pending_.With(bytes);
    while (rest.size() >= 4) {
      size_t size = 0;
      for (size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(rest[i]);
      if (size > kMaxPart)
        return End(
            BadProtobuf("watch frame of " + std::to_string(size) + " bytes is larger than 64 MiB"));
      if (rest.size() < 4 + size) break;
      WatchEvent event;
      if (Status read = Frame(rest.substr(4, size), &event); !read.ok())
        return End(std::move(read));
      out->push_back(std::move(event));
      rest.remove_prefix(4 + size);
    }
    pending_.Keep(rest);
    return Ok();
  }

  bool AtFrameBoundary() const override { return error_.code == Code::kOk && pending_.empty(); }

 private:
  Status End(Status problem) {
    error_ = problem.error();
    pending_.Clear();
    return problem;
  }

  Status Frame(std::string_view frame, WatchEvent* event) {
    std::string_view raw_extension;
    const char* p = frame.data();
    for (WireField field;;) {
      const ReadResult read = ReadField(&p, frame.data() + frame.size(), &field);
      if (read == ReadResult::kEnd) break;
      if (read == ReadResult::kBad) return BadProtobuf("watch frame: malformed event");
      if (field.num == 1) event->type = EventTypeOf(field.bytes);
      if (field.num == 2) raw_extension = field.bytes;
    }
    std::string_view enveloped;
    p = raw_extension.data();
    for (WireField field;;) {
      const ReadResult read = ReadField(&p, raw_extension.data() + raw_extension.size(), &field);
      if (read == ReadResult::kEnd) break;
      if (read == ReadResult::kBad) return BadProtobuf("watch frame: malformed object");
      if (field.num == 1) enveloped = field.bytes;
    }
    std::string_view raw;
    if (Status opened = OpenEnvelope(enveloped, &event->object_type, &raw); !opened.ok())
      return opened;
    const MessageIndex message = Find(event->object_type);
    if (message == kNoMessage) {
      return BadProtobuf("watch frame: no protobuf message for \"" +
                         event->object_type.api_version + " " + event->object_type.kind +
                         "\": watch with JSON");
    }
    Result<ObjectPtr> object =
        event->type == EventType::kError
            ? ProtoReader(WithoutMask(options_)).Read(message, raw, &event->object_type)
            : reader_.Read(message, raw, &event->object_type);
    if (!object.ok()) return object.error();
    event->object = std::move(*object);
    return Ok();
  }

  // One watch sends one kind, but for its errors.
  MessageIndex Find(const TypeMeta& type) {
    if (type.kind != last_.kind || type.api_version != last_.api_version) {
      last_ = type;
      last_message_ = FindMessage(MessageFor(type.api_version, type.kind));
    }
    return last_message_;
  }

  DecodeOptions options_;
  ProtoReader reader_;
  Pending pending_;
  TypeMeta last_;
  MessageIndex last_message_ = kNoMessage;
  Error error_{Code::kOk, {}, {}, 0, -1, {}};
};

}  // namespace

std::unique_ptr<ListDecoder> NewProtobufListDecoder(std::string_view message, DecodeOptions options,
                                                    ItemSink sink) {
  return std::make_unique<ProtobufListDecoder>(message, options, std::move(sink));
}

std::unique_ptr<WatchDecoder> NewProtobufWatchDecoder(DecodeOptions options) {
  return std::make_unique<ProtobufWatchDecoder>(options);
}

}  // namespace kcm::host::wire
