// SPDX-License-Identifier: Apache-2.0
// The object table: masks are kept, references counted, bad arguments answered.
#include "host/plugin/object_handle.h"

#include <gtest/gtest.h>

#include <thread>

#include "host/wire/codec.h"

namespace kcm::host::plugin {
namespace {

const kcm_object_api& kApi = ObjectTable();
kcm_str S(std::string_view s) { return {s.data(), s.size()}; }
std::string T(kcm_str s) { return s.length == 0 ? std::string() : std::string(s.data, s.length); }

constexpr std::string_view kPod =
    R"({"metadata":{"name":"web","namespace":"default","uid":"u1","resourceVersion":"42","labels":{"a":"b"}},
  "spec":{"nodeName":"n1","hostNetwork":true,"priority":-3,"containers":[{"name":"c1","image":"secret"},{"name":"c2","image":"x"}]},
  "status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}]}})";

class Handle {
 public:
  Handle(std::string_view json, const std::vector<std::string>& fields)
      : count(std::make_shared<std::atomic<int64_t>>(0)),
        handle(NewHandle(wire::FromJsonOrDie(json),
                         fields.empty() ? nullptr : ReadMask::Make(*wire::Mask::Compile(fields)),
                         count)) {}
  ~Handle() { kApi.release(handle); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  kcm_cursor At(const std::vector<std::string_view>& path) const {
    kcm_cursor c = kApi.root(handle);
    for (std::string_view name : path)
      c = name[0] == '#' ? kApi.at(c, static_cast<uint64_t>(name[1] - '0'))
                         : kApi.member(c, S(name));
    return c;
  }
  std::string Json(kcm_cursor c) const {
    std::string out;
    kApi.to_json(
        c,
        [](void* sink, kcm_str bytes) {
          static_cast<std::string*>(sink)->append(bytes.data, bytes.length);
        },
        &out);
    return out;
  }
  HandleCount count;
  kcm_object* handle;
};

TEST(ObjectHandle, MaskShowsWhatWasDeclaredAndMetadata) {
  const Handle pod(kPod, {"spec.nodeName", "spec.containers[].name", "status.conditions"});
  EXPECT_EQ(T(kApi.string(pod.At({"spec", "nodeName"}))), "n1");
  EXPECT_EQ(T(kApi.string(pod.At({"metadata", "labels", "a"}))), "b");
  EXPECT_EQ(T(kApi.string(pod.At({"spec", "containers", "#1", "name"}))), "c2");
  EXPECT_EQ(T(kApi.string(pod.At({"status", "conditions", "#0", "status"}))), "True");
  for (const std::vector<std::string_view>& hidden :
       std::vector<std::vector<std::string_view>>{{"spec", "priority"},
                                                  {"spec", "containers", "#0", "image"},
                                                  {"status", "phase"},
                                                  {"status", "podIP"}}) {
    const kcm_cursor c = pod.At(hidden);
    EXPECT_EQ(kApi.kind(c), KCM_KIND_ABSENT) << hidden.back();
    EXPECT_EQ(T(kApi.string(c)), "");
  }
  // The same by id.
  const kcm_cursor spec = kApi.field(kApi.root(pod.handle), kApi.field_id(S("spec")));
  EXPECT_EQ(T(kApi.string(kApi.field(spec, kApi.field_id(S("nodeName"))))), "n1");
  EXPECT_EQ(kApi.kind(kApi.field(spec, kApi.field_id(S("priority")))), KCM_KIND_ABSENT);
  EXPECT_EQ(kApi.is_whole(pod.handle), 0u);
}

TEST(ObjectHandle, MaskHoldsForCountsEntriesTextAndComparison) {
  const Handle pod(kPod, {"spec.nodeName", "spec.containers[].name"});
  EXPECT_EQ(kApi.count(kApi.root(pod.handle)), 2u) << "metadata and spec";
  EXPECT_EQ(kApi.count(pod.At({"spec"})), 2u);
  EXPECT_EQ(kApi.count(pod.At({"spec", "containers"})), 2u);
  EXPECT_EQ(kApi.count(pod.At({"spec", "containers", "#0"})), 1u);
  std::vector<std::string> names;
  kcm_str name{};
  for (uint64_t i = 0; i < 3; ++i)
    if (kApi.kind(kApi.entry(pod.At({"spec"}), i, &name)) != KCM_KIND_ABSENT)
      names.push_back(T(name));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"containers", "nodeName"}));
  const std::string spec = pod.Json(pod.At({"spec"}));
  EXPECT_EQ(spec.find("secret"), std::string::npos)
      << "to_json shows a field that was not declared: " << spec;
  EXPECT_EQ(pod.Json(pod.At({"spec", "containers"})), R"([{"name":"c1"},{"name":"c2"}])");
  EXPECT_EQ(pod.Json(kApi.root(pod.handle)).find("Running"), std::string::npos);

  std::string other(kPod);
  other.replace(other.find("secret"), 6, "public");
  const Handle changed(other, {"spec.nodeName", "spec.containers[].name"});
  EXPECT_EQ(kApi.equal(pod.At({"spec"}), changed.At({"spec"})), 1u)
      << "they differ only where this watch can not look";
  other.replace(other.find("\"c1\""), 4, "\"c9\"");
  const Handle renamed(other, {"spec.nodeName", "spec.containers[].name"});
  EXPECT_EQ(kApi.equal(pod.At({"spec"}), renamed.At({"spec"})), 0u);
  const Handle whole(kPod, {}), whole_changed(other, {});
  EXPECT_EQ(kApi.equal(whole.At({"spec"}), whole_changed.At({"spec"})), 0u);
  EXPECT_EQ(kApi.equal(whole.At({"metadata"}), whole_changed.At({"metadata"})), 1u);
}

TEST(ObjectHandle, ScalarsOfAnotherKindReadAsNothing) {
  const Handle pod(kPod, {});
  EXPECT_EQ(kApi.integer(pod.At({"spec", "priority"})), -3);
  EXPECT_EQ(kApi.real(pod.At({"spec", "priority"})), -3.0);
  EXPECT_EQ(kApi.boolean(pod.At({"spec", "hostNetwork"})), 1u);
  for (const kcm_cursor c : {pod.At({"spec"}), pod.At({"spec", "containers"}),
                             pod.At({"spec", "nodeName"}), kcm_cursor{0, 0}}) {
    EXPECT_EQ(kApi.integer(c), 0);
    EXPECT_EQ(kApi.real(c), 0.0);
    EXPECT_EQ(kApi.boolean(c), 0u);
  }
  const kcm_cursor absent{0, 0};
  kcm_str name{};
  EXPECT_EQ(kApi.kind(absent), KCM_KIND_ABSENT);
  EXPECT_EQ(kApi.count(absent), 0u);
  EXPECT_EQ(kApi.kind(kApi.member(absent, S("x"))), KCM_KIND_ABSENT);
  EXPECT_EQ(kApi.kind(kApi.field(absent, 3)), KCM_KIND_ABSENT);
  EXPECT_EQ(kApi.kind(kApi.at(absent, 0)), KCM_KIND_ABSENT);
  EXPECT_EQ(kApi.kind(kApi.at(pod.At({"spec", "containers"}), 2)), KCM_KIND_ABSENT);
  EXPECT_EQ(kApi.kind(kApi.at(pod.At({"spec"}), 0)), KCM_KIND_ABSENT) << "an object is no list";
  EXPECT_EQ(kApi.kind(kApi.entry(pod.At({"spec"}), 99, &name)), KCM_KIND_ABSENT);
  EXPECT_EQ(kApi.to_json(
                absent, [](void*, kcm_str) {}, nullptr),
            KCM_ERR_NOT_FOUND);
  EXPECT_EQ(kApi.field_id(S("no.such.member")), 0u);
  kApi.release(nullptr);
}

TEST(ObjectHandle, IdentityNeedsNoWalk) {
  const Handle pod(kPod, {"spec.nodeName"});
  EXPECT_EQ(T(kApi.namespace_of(pod.handle)), "default");
  EXPECT_EQ(T(kApi.name_of(pod.handle)), "web");
  EXPECT_EQ(T(kApi.uid_of(pod.handle)), "u1");
  EXPECT_EQ(T(kApi.resource_version_of(pod.handle)), "42");
  EXPECT_EQ(kApi.is_whole(Handle(kPod, {}).handle), 1u);
}

TEST(ObjectHandle, HandlesOfAGenerationAreCounted) {
  HandleCount count;
  {
    const Handle pod(kPod, {});
    count = pod.count;
    EXPECT_EQ(count->load(), 1);
    kApi.add_ref(pod.handle);
    EXPECT_EQ(count->load(), 1) << "references to one handle are one handle";
    kApi.release(pod.handle);
    EXPECT_EQ(count->load(), 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          kApi.add_ref(pod.handle);
          kApi.release(pod.handle);
        }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(count->load(), 1);
  }
  EXPECT_EQ(count->load(), 0);
}

}  // namespace
}  // namespace kcm::host::plugin
