// SPDX-License-Identifier: Apache-2.0
// Client: single requests, streamed lists, watches.
#include "host/client/client.h"

#include <optional>
#include <utility>

#include "host/client/api_error.h"
#include "host/client/refusal.h"
#include "host/client/request.h"
#include "host/client/sender.h"

namespace kcm::host::client {
namespace {

constexpr size_t kMaxAnswer = 256 << 20;
constexpr size_t kListChunk = 64 << 10;
constexpr size_t kWatchChunk = 8 << 10;
// A server that does not end a watch at its timeout is left this much later.
constexpr clock::Duration kWatchSlack = std::chrono::seconds(30);

bool IsProtobuf(const ResponseHead& head) {
  return head.content_type.find("protobuf") != std::string::npos;
}
bool IsJson(const ResponseHead& head) {
  return head.content_type.find("json") != std::string::npos;
}
bool Succeeded(const ResponseHead& head) { return head.status >= 200 && head.status < 300; }

std::string What(const Call& call) {
  std::string out(MethodOf(call.verb));
  for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
  if (!call.raw_path.empty()) return out + " " + call.raw_path.substr(0, call.raw_path.find('?'));
  out += " " + call.resource.resource;
  if (!call.resource.group.empty()) out += "." + call.resource.group;
  return call.name.empty() ? out : out + " " + call.name;
}

}  // namespace

struct Client::Impl {
  explicit Impl(ClientOptions given) : options(std::move(given)), sender(options) {}

  // Reads a failed answer and says what it means.
  Error Failure(const Call& call, OpenAnswer* answer) {
    if (answer->head().status == 401) sender.Rejected(*answer);
    const Result<std::string> body = answer->ReadAll(kMaxErrorBody);
    Error error = ErrorOfAnswer(answer->head(), body.ok() ? *body : "", What(call));
    if (options.token == nullptr && DoesNotKnowUs(error)) options.transport->SayRefused(error);
    return error;
  }

  Error Cancelled(const Call& call, Error error) const {
    if (call.cancel != nullptr && call.cancel->cancelled())
      return MakeError(Code::kCancelled, "cancelled");
    return error.code == Code::kTransport || error.code == Code::kTimeout
               ? sender.Explain(call, std::move(error))
               : error;
  }

  Result<Answer> DoOnce(const Call& call);
  Result<Answer> Decode(const Call& call, const ResponseHead& head, std::string body) const;

  const ClientOptions options;
  Sender sender;
};

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

const std::string& Client::user_agent() const { return impl_->options.user_agent; }

Result<Answer> Client::Impl::Decode(const Call& call, const ResponseHead& head,
                                    std::string body) const {
  Answer out;
  out.http_status = head.status;
  out.content_type = head.content_type;
  if (call.form == Form::kRaw) {
    out.raw = std::move(body);
    return out;
  }
  if (body.empty()) return out;
  const wire::DecodeOptions decode{call.mask, false, true};
  Result<wire::ObjectPtr> object =
      IsProtobuf(head) ? wire::DecodeEnvelope(body, decode, &out.type)
      : IsJson(head)   ? wire::DecodeJson(body, decode, &out.type)
                       : MakeError(Code::kUnsupportedMediaType,
                                   What(call) + ": answer of type \"" + head.content_type + "\"");
  if (!object.ok()) return object.error();
  // A delete may answer with a Status instead of the object.
  if (out.type.kind != "Status") out.object = *std::move(object);
  return out;
}

Result<Answer> Client::Impl::DoOnce(const Call& call) {
  Result<std::unique_ptr<OpenAnswer>> answer = sender.Send(call);
  if (!answer.ok()) return answer.error();
  const ResponseHead head = (*answer)->head();
  if (!Succeeded(head)) return Failure(call, answer->get());
  Result<std::string> body = (*answer)->ReadAll(kMaxAnswer);
  answer->reset();  // the connection is free while the body is decoded
  if (!body.ok()) return Cancelled(call, body.error());
  sender.metrics().ResponseSize(MethodOf(call.verb), body->size());
  return Decode(call, head, *std::move(body));
}

Result<Answer> Client::Do(const Call& call) {
  const clock::BusyScope busy(*impl_->options.clock);
  Result<Answer> answer = impl_->DoOnce(call);
  // A field that our protobuf table does not know would be lost in a later PUT: read it as JSON
  // (spec/wire.md).
  if (answer.ok() && call.verb == Verb::kGet && call.mask == nullptr && answer->object &&
      !answer->object->whole() && answer->content_type.find("protobuf") != std::string::npos) {
    impl_->sender.UseJson(call);
    return impl_->DoOnce(call);
  }
  return answer;
}

Result<ListResult> Client::List(const Call& call, const wire::ItemSink& sink) {
  const clock::BusyScope busy(*impl_->options.clock);
  Result<std::unique_ptr<OpenAnswer>> answer = impl_->sender.Send(call);
  if (!answer.ok()) return answer.error();
  const ResponseHead& head = (*answer)->head();
  if (!Succeeded(head)) return impl_->Failure(call, answer->get());
  if (!IsProtobuf(head) && !IsJson(head)) {
    return MakeError(Code::kUnsupportedMediaType,
                     What(call) + ": answer of type \"" + head.content_type + "\"");
  }
  wire::DecodeOptions decode{call.mask, false, false};
  decode.interner = call.interner;
  const std::unique_ptr<wire::ListDecoder> decoder =
      IsProtobuf(head) ? wire::NewProtobufListDecoder(ItemMessageOf(call), decode, sink)
                       : wire::NewJsonListDecoder(decode, sink);
  std::string chunk(kListChunk, '\0');
  uint64_t total = 0;
  for (;;) {
    const Result<size_t> n = (*answer)->Read(chunk.data(), chunk.size());
    if (!n.ok()) return impl_->Cancelled(call, n.error());
    if (*n == 0) break;
    total += *n;
    const Status fed = decoder->Feed(std::string_view(chunk).substr(0, *n));
    if (!fed.ok()) return fed.error();
  }
  const Status finished = decoder->Finish();
  if (!finished.ok()) return finished.error();
  impl_->sender.metrics().ResponseSize("GET", total);
  return ListResult{std::move(decoder->resource_version), std::move(decoder->continue_token),
                    std::move(decoder->type)};
}

namespace {

// Feeds a watch's bytes to the decoder until the stream ends, the caller has enough, or something
// is wrong.
Status Stream(OpenAnswer* answer, wire::WatchDecoder* decoder,
              const std::function<bool(wire::WatchEvent&&)>& on_event) {
  std::string chunk(kWatchChunk, '\0');
  std::vector<wire::WatchEvent> events;
  for (;;) {
    const Result<size_t> n = answer->Read(chunk.data(), chunk.size());
    // The server's timeout and ours mean the same.
    if (!n.ok() && n.code() == Code::kTimeout) return Ok();
    if (!n.ok()) return n.error();
    if (*n == 0) {
      return decoder->AtFrameBoundary()
                 ? Ok()
                 : Status(TransportError(kCauseEof, "unexpected EOF inside a watch event"));
    }
    events.clear();
    const Status fed = decoder->Feed(std::string_view(chunk).substr(0, *n), &events);
    for (wire::WatchEvent& event : events) {
      if (!on_event(std::move(event))) return Ok();
    }
    if (!fed.ok()) {
      Error bad = fed.error();
      bad.reason = "ClientWatchDecoding";  // 5.3: a bad frame means relist
      bad.http_status = 500;
      return bad;
    }
    // A burst (watch-list of a big cluster) must not leave its largest batch behind.
    if (events.capacity() > 1024) std::vector<wire::WatchEvent>().swap(events);
  }
}

}  // namespace

Status Client::Watch(const Call& call, const std::function<void()>& on_open,
                     const std::function<bool(wire::WatchEvent&&)>& on_event) {
  std::optional<clock::BusyScope> busy;
  busy.emplace(*impl_->options.clock);
  Result<std::unique_ptr<OpenAnswer>> answer = impl_->sender.Send(call);
  if (!answer.ok()) {
    // 7.2.3: a watch that could not be opened because the stream ended or timed out counts as
    // opened and closed.
    const Error& e = answer.error();
    const bool empty = call.retry_lost && (e.code == Code::kTimeout ||
                                           (e.code == Code::kTransport && e.cause == kCauseEof));
    if (empty && on_open) on_open();
    return empty ? Ok() : Status(e);
  }
  const ResponseHead& head = (*answer)->head();
  if (!Succeeded(head)) return impl_->Failure(call, answer->get());
  if (!IsProtobuf(head) && !IsJson(head)) {
    return MakeError(Code::kUnsupportedMediaType,
                     What(call) + ": answer of type \"" + head.content_type + "\"");
  }
  if (call.timeout.count() > 0) (*answer)->ExtendDeadline(call.timeout + kWatchSlack);
  wire::DecodeOptions decode{call.mask, false, false};
  decode.interner = call.interner;
  const std::unique_ptr<wire::WatchDecoder> decoder =
      IsProtobuf(head) ? wire::NewProtobufWatchDecoder(decode) : wire::NewJsonWatchDecoder(decode);
  busy.reset();  // an open watch is not work (host/clock)
  if (on_open) on_open();
  const Status ended = Stream(answer->get(), decoder.get(), on_event);
  if (ended.ok()) return ended;
  return impl_->Cancelled(call, ended.error());
}

}  // namespace kcm::host::client
