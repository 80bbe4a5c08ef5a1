// SPDX-License-Identifier: Apache-2.0
// Reading objects through the host's table: rules::Node over cursors, conversion to JSON trees.
#include "kcm/sdk/object.h"

#include <atomic>
#include <exception>
#include <nlohmann/json.hpp>

namespace kcm::sdk {
namespace internal {
namespace {
std::atomic<const kcm_object_api*> g_object_api{
    nullptr};  // release/acquire: set once, before any object is seen
}

void SetObjectApi(const kcm_object_api* api) { g_object_api.store(api, std::memory_order_release); }
const kcm_object_api& ObjectApi() { return *g_object_api.load(std::memory_order_acquire); }
}  // namespace internal

namespace {

using rules::Kind;
using rules::Node;

kcm_cursor Cursor(uint64_t a, uint64_t b) { return kcm_cursor{a, b}; }

Kind KindOf(uint64_t a, uint64_t b) {
  static_assert(static_cast<uint32_t>(Kind::kObject) == KCM_KIND_OBJECT);
  const uint32_t k = internal::ObjectApi().kind(Cursor(a, b));
  return k > KCM_KIND_OBJECT ? Kind::kAbsent : static_cast<Kind>(k);
}
Node Member(uint64_t a, uint64_t b, std::string_view name) {
  return CursorNode(internal::ObjectApi().member(Cursor(a, b), Str(name)));
}
size_t Size(uint64_t a, uint64_t b) { return internal::ObjectApi().count(Cursor(a, b)); }
Node At(uint64_t a, uint64_t b, size_t i) {
  return CursorNode(internal::ObjectApi().at(Cursor(a, b), i));
}
std::pair<std::string_view, Node> Entry(uint64_t a, uint64_t b, size_t i) {
  kcm_str name{};
  const kcm_cursor value = internal::ObjectApi().entry(Cursor(a, b), i, &name);
  return {View(name), CursorNode(value)};
}
std::string_view String(uint64_t a, uint64_t b) {
  return View(internal::ObjectApi().string(Cursor(a, b)));
}
int64_t Integer(uint64_t a, uint64_t b) { return internal::ObjectApi().integer(Cursor(a, b)); }
double Real(uint64_t a, uint64_t b) { return internal::ObjectApi().real(Cursor(a, b)); }
bool Boolean(uint64_t a, uint64_t b) { return internal::ObjectApi().boolean(Cursor(a, b)) != 0; }

constexpr rules::NodeOps kCursorOps = {KindOf, Member,  Size, At,     Entry,
                                       String, Integer, Real, Boolean};

}  // namespace

Node CursorNode(kcm_cursor at) {
  return at.a == 0 && at.b == 0 ? Node() : Node(&kCursorOps, at.a, at.b);
}

std::string ObjectRef::Key() const {
  const std::string_view ns = Namespace(), name = Name();
  return ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name);
}

std::string ObjectRef::ToJsonText() const {
  struct Sink {
    std::string text;
    std::exception_ptr thrown = {};
  } sink;
  // What is thrown (memory) must not pass through the host: it is thrown on here.
  const auto append = [](void* data, kcm_str bytes) noexcept {
    Sink& s = *static_cast<Sink*>(data);
    if (s.thrown) return;
    try {
      s.text.append(View(bytes));
    } catch (...) {
      s.thrown = std::current_exception();
    }
  };
  (void)internal::ObjectApi().to_json(internal::ObjectApi().root(handle_), append, &sink);
  if (sink.thrown) std::rethrow_exception(sink.thrown);
  return std::move(sink.text);
}

Json ObjectRef::ToJson() const { return sdk::ToJson(Root()); }

Json ToJson(Node node) {
  switch (node.kind()) {
    case Kind::kBool:
      return node.Bool();
    case Kind::kInt:
      return node.Int();
    case Kind::kDouble:
      return node.Real();
    case Kind::kString:
      return std::string(node.String());
    case Kind::kArray: {
      Json out = Json::array();
      for (Node item : node.Items()) out.push_back(ToJson(item));
      return out;
    }
    case Kind::kObject: {
      Json out = Json::object();
      for (auto [key, value] : node.Entries()) out.emplace(key, ToJson(value));
      return out;
    }
    case Kind::kAbsent:
    case Kind::kNull:
      break;
  }
  return nullptr;
}

}  // namespace kcm::sdk
