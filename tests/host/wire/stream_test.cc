// SPDX-License-Identifier: Apache-2.0
// Lists and watches as streams: whatever the portions, the same items; a cut stream is noticed.
#include <gtest/gtest.h>

#include <functional>

#include "host/wire/codec.h"

namespace kcm::host::wire {
namespace {

struct Got {
  std::vector<std::string> items;
  std::string resource_version, continue_token, kind;
  int64_t remaining = -1;
  Code code = Code::kOk;
};

using MakeList = std::function<std::unique_ptr<ListDecoder>(ItemSink)>;

// Feeds `body` cut at the given places.
Got Decode(const MakeList& make, std::string_view body, const std::vector<size_t>& cuts) {
  Got got;
  const auto decoder =
      make([&got](ObjectPtr object) { got.items.push_back(ToJson(object->Root())); });
  size_t from = 0;
  for (size_t i = 0; i <= cuts.size() && got.code == Code::kOk; ++i) {
    const size_t to = i < cuts.size() ? cuts[i] : body.size();
    got.code = decoder->Feed(body.substr(from, to - from)).code();
    from = to;
  }
  if (got.code == Code::kOk) got.code = decoder->Finish().code();
  got.resource_version = decoder->resource_version;
  got.continue_token = decoder->continue_token;
  got.remaining = decoder->remaining_item_count;
  got.kind = decoder->type.kind;
  return got;
}

std::string ProtobufBody() {
  std::string list;
  BeginProtobufList("77", "next", 5, &list);
  for (const char* name : {"a", "b", "c"}) {
    std::string raw;
    const ObjectPtr item = FromJsonOrDie(R"({"metadata":{"name":")" + std::string(name) +
                                         R"("},"data":{"k":"some \"quoted {value]\\"}})");
    EXPECT_TRUE(EncodeProtobuf("core.v1.ConfigMap", item->Root(), &raw).ok());
    AppendProtobufListItem(raw, &list);
  }
  std::string body;
  WrapEnvelope({"v1", "ConfigMapList"}, list, &body);
  return body;
}

constexpr char kJsonBody[] =
    R"( {"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"77","continue":"next","remainingItemCount":5,"items":[1]},)"
    R"("items" : [ {"metadata":{"name":"a"},"data":{"k":"some \"quoted {value]\\"}},{"metadata":{"name":"b"},"data":{"k":"some \"quoted {value]\\"}} ,)"
    R"({"metadata":{"name":"c"},"data":{"k":"some \"quoted {value]\\"}}]} )"
    "\n";

MakeList Protobuf(const DecodeOptions& options) {
  return [&options](ItemSink sink) {
    return NewProtobufListDecoder("core.v1.ConfigMap", options, std::move(sink));
  };
}
MakeList Json(const DecodeOptions& options) {
  return [&options](ItemSink sink) { return NewJsonListDecoder(options, std::move(sink)); };
}

void ExpectTheList(const Got& got) {
  ASSERT_EQ(got.code, Code::kOk);
  ASSERT_EQ(got.items.size(), 3u);
  EXPECT_EQ(got.items[0], R"({"metadata":{"name":"a"},"data":{"k":"some \"quoted {value]\\"}})");
  EXPECT_EQ(got.items[2], R"({"metadata":{"name":"c"},"data":{"k":"some \"quoted {value]\\"}})");
  EXPECT_EQ(got.resource_version, "77");
  EXPECT_EQ(got.continue_token, "next");
  EXPECT_EQ(got.remaining, 5);
  EXPECT_EQ(got.kind, "ConfigMapList");
}

TEST(ListStream, AnyTwoPortionsGiveTheSameList) {
  const DecodeOptions options;
  const std::string protobuf = ProtobufBody();
  for (size_t cut = 0; cut <= protobuf.size(); ++cut) {
    SCOPED_TRACE(cut);
    ExpectTheList(Decode(Protobuf(options), protobuf, {cut}));
  }
  const std::string json = kJsonBody;
  for (size_t cut = 0; cut <= json.size(); ++cut) {
    SCOPED_TRACE(cut);
    ExpectTheList(Decode(Json(options), json, {cut}));
  }
}

TEST(ListStream, SingleBytesGiveTheSameList) {
  const DecodeOptions options;
  const auto all_cuts = [](size_t size) {
    std::vector<size_t> cuts;
    for (size_t i = 1; i < size; ++i) cuts.push_back(i);
    return cuts;
  };
  const std::string protobuf = ProtobufBody(), json = kJsonBody;
  ExpectTheList(Decode(Protobuf(options), protobuf, all_cuts(protobuf.size())));
  ExpectTheList(Decode(Json(options), json, all_cuts(json.size())));
}

TEST(ListStream, ACutListIsNotAShortList) {
  const DecodeOptions options;
  const std::string protobuf = ProtobufBody(), json = kJsonBody;
  // The last four bytes of the envelope are two empty fields; without the last of them it is still
  // complete.
  for (size_t size = 0; size + 4 < protobuf.size(); ++size) {
    EXPECT_EQ(Decode(Protobuf(options), std::string_view(protobuf).substr(0, size), {}).code,
              Code::kInvalid)
        << size;
  }
  for (size_t size = 0; size + 2 < json.size(); ++size) {
    EXPECT_EQ(Decode(Json(options), std::string_view(json).substr(0, size), {}).code,
              Code::kInvalid)
        << size;
  }
}

TEST(ListStream, ItemsCarryTheirTypeOnRequest) {
  DecodeOptions options;
  options.keep_type_meta = true;
  const std::string first = R"({"kind":"ConfigMap","apiVersion":"v1",)";
  EXPECT_TRUE(Decode(Protobuf(options), ProtobufBody(), {}).items.at(0).starts_with(first));
  EXPECT_TRUE(Decode(Json(options), kJsonBody, {}).items.at(0).starts_with(first));
}

TEST(ListStream, EmptyListsAreLists) {
  const DecodeOptions options;
  std::string list, body;
  BeginProtobufList("9", "", -1, &list);
  WrapEnvelope({"v1", "PodList"}, list, &body);
  const Got protobuf = Decode(Protobuf(options), body, {});
  EXPECT_EQ(protobuf.code, Code::kOk);
  EXPECT_EQ(protobuf.resource_version, "9");
  EXPECT_EQ(protobuf.remaining, -1);
  for (const char* items : {"[]", "null", "[ ]"}) {
    const Got json = Decode(Json(options),
                            R"({"kind":"PodList","metadata":{"resourceVersion":"9"},"items":)" +
                                std::string(items) + "}",
                            {});
    EXPECT_EQ(json.code, Code::kOk) << items;
    EXPECT_EQ(json.items.size(), 0u);
    EXPECT_EQ(json.resource_version, "9");
  }
}

TEST(ListStream, BadJsonListsAreRefused) {
  const DecodeOptions options;
  for (const char* body : {"[]", "x", R"({"items":[1]})", R"({"items":[{} {}]})",
                           R"({"items":[,]})", R"({"items":[{]}]})", R"({"items":[{}],)",
                           R"({"items":[{"a":}]})", R"({"items":[]} x)", R"({"kind":})"}) {
    EXPECT_EQ(Decode(Json(options), body, {}).code, Code::kInvalid) << body;
  }
  std::string deep = R"({"items":[)";
  for (int i = 0; i < 300; ++i) deep += R"({"a":)";
  EXPECT_EQ(Decode(Json(options), deep, {}).code, Code::kInvalid);
}

struct Event {
  const char* type;
  const char* json;
  EventType want;
};
constexpr Event kEvents[] = {
    {"ADDED", R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}})", EventType::kAdded},
    {"MODIFIED",
     R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","annotations":{"x":"}\\"}}})",
     EventType::kModified},
    {"DELETED", R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}})", EventType::kDeleted},
    {"BOOKMARK", R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12"}})",
     EventType::kBookmark},
    {"ERROR",
     R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Expired","code":410})",
     EventType::kError},
    {"NEWER", R"({"kind":"Pod","apiVersion":"v1","metadata":{}})", EventType::kOther},
};

std::string ProtobufFrames() {
  std::string stream;
  for (const Event& event : kEvents) {
    TypeMeta type;
    const auto object = DecodeJson(event.json, {}, &type);
    std::string raw;
    EXPECT_TRUE(
        EncodeProtobuf(MessageFor(type.api_version, type.kind), (*object)->Root(), &raw).ok());
    EncodeProtobufWatchFrame(event.type, type, raw, &stream);
  }
  return stream;
}

std::string JsonFrames() {
  std::string stream;
  for (const Event& event : kEvents) {
    stream += R"({"type":")" + std::string(event.type) + R"(","object":)" + event.json + "}\n";
  }
  return stream;
}

void ExpectTheEvents(WatchDecoder* decoder, std::string_view stream, size_t portion) {
  std::vector<WatchEvent> events;
  for (size_t i = 0; i < stream.size(); i += portion) {
    ASSERT_TRUE(decoder->Feed(stream.substr(i, portion), &events).ok());
  }
  EXPECT_TRUE(decoder->AtFrameBoundary());
  ASSERT_EQ(events.size(), std::size(kEvents));
  for (size_t i = 0; i < events.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(events[i].type, kEvents[i].want);
    const ObjectPtr want = FromJsonOrDie(kEvents[i].json);
    EXPECT_EQ(events[i].object->Name(), want->Name());
    EXPECT_EQ(events[i].object->ResourceVersion(), want->ResourceVersion());
    EXPECT_EQ(events[i].object_type.kind, want->Root().Member("kind").String());
    EXPECT_TRUE(
        DeepEqual(events[i].object->Root().Member("metadata"), want->Root().Member("metadata")));
  }
  EXPECT_EQ(events[4].object->Root().Member("code").Int(), 410);
}

TEST(WatchStream, PortionsDoNotMatter) {
  const std::string protobuf = ProtobufFrames(), json = JsonFrames();
  for (const size_t portion :
       {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{64}, size_t{100000}}) {
    SCOPED_TRACE(portion);
    ExpectTheEvents(NewProtobufWatchDecoder({}).get(), protobuf, portion);
    ExpectTheEvents(NewJsonWatchDecoder({}).get(), json, portion);
  }
}

// What a cache reads of its kind says nothing about the Status that ends its watch.
TEST(WatchStream, AMaskLeavesErrorsWhole) {
  const auto mask = Mask::Compile({"spec.nodeName"});
  ASSERT_TRUE(mask.ok());
  DecodeOptions options;
  options.mask = &*mask;
  for (const bool protobuf : {false, true}) {
    SCOPED_TRACE(protobuf);
    const auto decoder = protobuf ? NewProtobufWatchDecoder(options) : NewJsonWatchDecoder(options);
    std::vector<WatchEvent> events;
    ASSERT_TRUE(decoder->Feed(protobuf ? ProtobufFrames() : JsonFrames(), &events).ok());
    ASSERT_EQ(events.size(), std::size(kEvents));
    const Value status = events[4].object->Root();
    EXPECT_EQ(status.Member("code").Int(), 410);
    EXPECT_EQ(status.Member("reason").String(), "Expired");
  }
}

TEST(WatchStream, ACutFrameIsSeen) {
  std::vector<WatchEvent> events;
  const auto protobuf = NewProtobufWatchDecoder({});
  ASSERT_TRUE(protobuf->Feed(ProtobufFrames().substr(0, 10), &events).ok());
  EXPECT_FALSE(protobuf->AtFrameBoundary());
  const auto json = NewJsonWatchDecoder({});
  ASSERT_TRUE(json->Feed(R"({"type":"ADDED",)", &events).ok());
  EXPECT_FALSE(json->AtFrameBoundary());
  EXPECT_TRUE(events.empty());
}

TEST(WatchStream, ABadFrameEndsTheStreamForGood) {
  using namespace std::string_literals;
  for (const std::string& bad :
       {"\xFF\xFF\xFF\xFF"s, "\0\0\0\2\x0A\x7F"s, "\0\0\0\0"s, "\4\0\0\1"s}) {
    const auto decoder = NewProtobufWatchDecoder({});
    std::vector<WatchEvent> events;
    EXPECT_EQ(decoder->Feed(bad, &events).code(), Code::kInvalid);
    EXPECT_EQ(decoder->Feed(ProtobufFrames(), &events).code(), Code::kInvalid);
    EXPECT_FALSE(decoder->AtFrameBoundary());
    EXPECT_TRUE(events.empty());
  }
  for (const std::string& bad :
       {"[]"s, "{}"s, "nonsense"s, R"({"type":"ADDED"})"s, R"({"type":"ADDED","object":7})"s}) {
    const auto decoder = NewJsonWatchDecoder({});
    std::vector<WatchEvent> events;
    EXPECT_EQ(decoder->Feed(bad, &events).code(), Code::kInvalid) << bad;
    EXPECT_EQ(decoder->Feed(JsonFrames(), &events).code(), Code::kInvalid);
    EXPECT_TRUE(events.empty());
  }
}

}  // namespace
}  // namespace kcm::host::wire
