// SPDX-License-Identifier: Apache-2.0
// GET of one object and lists (spec/apiserver D). Nothing here goes through Json: bodies are
// written from the stored form.
#include <algorithm>

#include "devcluster/server/convert.h"
#include "devcluster/server/core.h"
#include "devcluster/server/list_options.h"
#include "devcluster/server/table.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;
using host::wire::TypeMeta;

namespace {

constexpr size_t kPortionBytes = 256 * 1024;  // a large list leaves in portions of this size
constexpr size_t kKeptBytes = 4 * 1024 * 1024;

// A revision of the future: the reference waits three seconds for it and then gives up; nothing of
// ours lags behind the store, so there is nothing to wait for.
void RefuseFuture(const State& state, uint64_t wanted) {
  if (wanted > state.store->revision())
    Fail(TooLargeResourceVersion(wanted, state.store->revision()));
}

struct Page {
  std::vector<ObjectPtr> items;
  uint64_t revision = 0;
  std::string next;  // continue token
  int64_t remaining = -1;
};

[[noreturn]] void FailExpiredContinue(const std::string& start);

Store::Listed ListFrom(const State& state, const Request& request, const ListOptions& o) {
  const Resource& r = *request.resource;
  uint64_t at = 0;
  std::string start;
  if (!o.continue_token.empty()) {
    if (!o.resource_version.empty() && o.resource_version != "0") {
      Fail(BadRequest("specifying resource version is not allowed when using continue"));
    }
    const ContinueToken token = DecodeContinue(o.continue_token);
    start = token.start;
    if (token.revision > 0) at = static_cast<uint64_t>(token.revision);
  } else {
    const uint64_t wanted = RevisionParameter(o.resource_version, 400);
    RefuseFuture(state, wanted);
    // `limit` turns a plain revision into an exact one (spec/apiserver D3, O2).
    if (wanted != 0 && (o.resource_version_match == "Exact" ||
                        (o.resource_version_match.empty() && o.limit > 0))) {
      at = wanted;
    }
  }
  Store::Listed listed = state.store->List(*r.table, request.info.ns, start, at);
  if (listed.too_old) {
    if (!o.continue_token.empty()) FailExpiredContinue(start);
    Fail(Expired("The resourceVersion for the provided list is too old."));
  }
  return listed;
}

Page MakePage(const State& state, const Request& request, const ListOptions& o) {
  const Resource& r = *request.resource;
  Page page;
  Store::Listed listed = ListFrom(state, request, o);
  page.revision = listed.revision;
  const bool unlimited = o.limit <= 0 || o.resource_version == "0";
  const size_t limit = unlimited ? listed.items.size() : static_cast<size_t>(o.limit);
  if (o.selects()) {
    size_t kept = 0;
    for (ObjectPtr& item : listed.items) {
      const ObjectPtr shown =
          r.stored_form || o.fields.SelectsEverything() ? item : InVersion(r, item);
      if (!o.Matches(*shown, *r.kind)) continue;
      if (page.items.size() == limit) {
        page.next = Encode(
            {static_cast<int64_t>(page.revision), page.items.back()->Key() + std::string(1, '\0')});
        break;
      }
      page.items.push_back(std::move(item));
      ++kept;
    }
  } else {
    if (listed.items.size() > limit) {
      page.remaining = static_cast<int64_t>(listed.items.size() - limit);
      listed.items.resize(limit);
      page.next = Encode(
          {static_cast<int64_t>(page.revision), listed.items.back()->Key() + std::string(1, '\0')});
    }
    page.items = std::move(listed.items);
  }
  if (!r.stored_form) {
    for (ObjectPtr& item : page.items) item = InVersion(r, item);
  }
  return page;
}

[[noreturn]] void FailExpiredContinue(const std::string& start) {
  ApiError e = Expired(
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without "
      "the continue parameter, or use the continue token in this response to retrieve the "
      "remainder of the results. "
      "Continuing with the provided token results in an inconsistent list - objects that were "
      "created, modified, or deleted "
      "between the time the first chunk was returned and now may show up in the list.");
  e.metadata_continue = Encode({-1, start});
  Fail(std::move(e));
}

Json ListMetadata(const Page& page) {
  Json m = {{"resourceVersion", std::to_string(page.revision)}};
  if (!page.next.empty()) m["continue"] = page.next;
  if (page.remaining >= 0) m["remainingItemCount"] = page.remaining;
  return m;
}

// Lists of custom resources carry `continue` even when it is empty, as the reference's do.
std::string ListMetadataText(const Page& page, bool custom) {
  std::string m = "{\"resourceVersion\":\"" + std::to_string(page.revision) + "\"";
  if (!page.next.empty() || custom) m += ",\"continue\":\"" + page.next + "\"";
  if (page.remaining >= 0) m += ",\"remainingItemCount\":" + std::to_string(page.remaining);
  return m + "}";
}

// Collects a body and sends it in portions once it is large; small ones leave as one complete
// answer.
class BodySender {
 public:
  BodySender(Request& request, std::string content_type)
      : request_(request),
        content_type_(std::move(content_type)),
        headers_(WarningHeaders(request.warnings)) {}

  std::string& out() { return buffer_; }
  bool MaybeFlush() {
    if (buffer_.size() < kPortionBytes) return true;
    Connection& c = *request_.connection;
    if (!begun_) c.BeginChunked(200, content_type_, headers_);
    begun_ = true;
    const bool ok = c.Chunk(buffer_);
    buffer_.clear();
    return ok;
  }
  Answer Finish() {
    Answer a;
    a.content_type = content_type_;
    if (begun_) {
      request_.connection->Chunk(buffer_);
      request_.connection->EndChunked();
      a.sent = true;
    } else {
      a.body = std::move(buffer_);
    }
    return a;
  }

 private:
  Request& request_;
  std::string content_type_, headers_;
  std::string buffer_;
  bool begun_ = false;
};

Answer SendJsonList(Request& request, const Resource& r, const Page& page, const Media& media) {
  const bool partial = media.as == Media::As::kPartialList;
  BodySender sender(request, media.ContentType());
  const std::string item_version = "meta.k8s.io/" + media.version;
  const TypeMeta item_type = partial ? TypeMeta{item_version, "PartialObjectMetadata"} : r.type;
  const bool typed = partial || r.kind->custom;
  sender.out() += "{\"kind\":\"" + (partial ? "PartialObjectMetadataList" : r.list_type.kind) +
                  "\",\"apiVersion\":\"" + (partial ? item_version : r.list_type.api_version) +
                  "\",\"metadata\":" + ListMetadataText(page, r.kind->custom && !partial) +
                  ",\"items\":";
  if (partial && page.items.empty()) {
    sender.out() += "null}\n";
    return sender.Finish();
  }
  sender.out() += "[";
  bool first = true;
  for (const ObjectPtr& item : page.items) {
    if (!first) sender.out() += ",";
    first = false;
    if (partial) {
      host::wire::EncodeJson(host::wire::MetadataOnly(*item)->Root(), &item_type, &sender.out());
    } else {
      host::wire::EncodeJson(item->Root(), typed ? &item_type : nullptr, &sender.out());
    }
    if (!sender.MaybeFlush()) break;
  }
  sender.out() += "]}\n";
  return sender.Finish();
}

// The envelope's raw bytes have a length in front. A list of moderate size is encoded once and
// kept; of a large one the rest is encoded twice, first for its size, so that memory stays bounded.
Answer SendProtobufList(Request& request, const Resource& r, const Page& page, const Media& media) {
  const bool partial = media.as == Media::As::kPartialList;
  const TypeMeta type =
      partial ? TypeMeta{"meta.k8s.io/" + media.version, "PartialObjectMetadataList"} : r.list_type;
  std::string one;
  const auto encode = [&](const ObjectPtr& item) {
    one.clear();
    const Status encoded =
        partial ? host::wire::EncodeProtobuf("meta.v1.PartialObjectMetadata",
                                             host::wire::MetadataOnly(*item)->Root(), &one)
                : host::wire::EncodeProtobuf(r.message, item->Root(), &one);
    if (!encoded.ok())
      Fail(Untyped("cannot encode " + item->Key() + ": " + encoded.error().message));
  };
  std::string kept;
  host::wire::BeginProtobufList(std::to_string(page.revision), page.next, page.remaining, &kept);
  size_t size = kept.size(), next = 0;
  for (size_t i = 0; i < page.items.size(); ++i) {
    encode(page.items[i]);
    size += host::wire::ProtobufListItemSize(one.size());
    if (next < i || kept.size() >= kKeptBytes) continue;
    host::wire::AppendProtobufListItem(one, &kept);
    next = i + 1;
  }
  BodySender sender(request, media.ContentType());
  host::wire::BeginEnvelope(type, size, &sender.out());
  sender.out() += kept;
  kept = std::string();
  bool good = sender.MaybeFlush();
  for (; good && next < page.items.size(); ++next) {
    encode(page.items[next]);
    host::wire::AppendProtobufListItem(one, &sender.out());
    good = sender.MaybeFlush();
  }
  host::wire::EndEnvelope(&sender.out());
  return sender.Finish();
}

Answer SendTable(const State& state, Request& request, const Resource& r, const Page& page,
                 const Media& media) {
  const IncludeObject include = IncludeObjectOf(request);
  BodySender sender(request, media.ContentType());
  sender.out() += TableHead(r, media, ListMetadata(page), true) + "[";
  bool first = true;
  for (const ObjectPtr& item : page.items) {
    if (!first) sender.out() += ",";
    first = false;
    sender.out() += TableRow(state, r, *item, include, media);
    if (!sender.MaybeFlush()) break;
  }
  sender.out() += "]}\n";
  return sender.Finish();
}

}  // namespace

Answer HandleGet(const State& state, Request& request) {
  const Resource& r = *request.resource;
  RefuseFuture(state, RevisionParameter(request.query.Get("resourceVersion"), 400));
  const ObjectPtr object =
      state.store->Get(*r.table, Store::Key(request.info.ns, request.info.name));
  if (!object) Fail(NotFound(r.gvr(), request.info.name));
  return ObjectAnswer(state, request, 200, r, object);
}

Answer HandleList(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const Media media = Negotiate(request.http->Header("Accept"), OfferFor(r));
  if (media.as == Media::As::kPartial) {
    Fail(NotAcceptable(
        "you requested PartialObjectMetadata, but the requested object is a list (*core." +
        r.list_type.kind + ")"));
  }
  const ListOptions options = ReadListOptions(state, request, false);
  const Page page = MakePage(state, request, options);
  if (media.as == Media::As::kTable) return SendTable(state, request, r, page, media);
  return media.protobuf() ? SendProtobufList(request, r, page, media)
                          : SendJsonList(request, r, page, media);
}

}  // namespace kcm::devcluster
