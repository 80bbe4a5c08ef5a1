// SPDX-License-Identifier: Apache-2.0
// Cursors: a = handle, b = mask node (high 32 bits) and position in the object (low 32 bits).
// Hidden members are stepped over.
#include "host/plugin/object_handle.h"

#include <algorithm>

#include "host/plugin/tables.h"
#include "host/wire/codec.h"
#include "kcm/rules/json_text.h"

namespace kcm::host::plugin {
namespace {

using wire::Value;

const kcm_object* Handle(kcm_cursor c) { return reinterpret_cast<const kcm_object*>(c.a); }
Value At(kcm_cursor c) {
  return c.a == 0 ? Value() : Value(Handle(c)->object.get(), static_cast<uint32_t>(c.b));
}
uint32_t MaskNode(kcm_cursor c) { return static_cast<uint32_t>(c.b >> 32); }

kcm_cursor Make(const kcm_object* handle, Value v, uint32_t mask_node) {
  if (v.kind() == rules::Kind::kAbsent) return {0, 0};
  return {reinterpret_cast<uint64_t>(handle), (static_cast<uint64_t>(mask_node) << 32) | v.pos()};
}

// Mask node of a member of the value at `c`.
uint32_t Below(kcm_cursor c, std::string_view name) {
  const uint32_t node = MaskNode(c);
  return node == 0 ? 0 : Handle(c)->mask->Child(node, name);
}

void AddRef(kcm_object* o) { o->references.fetch_add(1, std::memory_order_relaxed); }
void Release(kcm_object* o) {
  if (o == nullptr || o->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (o->count) o->count->fetch_sub(1, std::memory_order_acq_rel);
  delete o;
}
kcm_cursor Root(const kcm_object* o) {
  return Make(o, o->object->Root(), o->mask ? o->mask->root() : 0);
}
uint32_t FieldId(kcm_str name) { return wire::FieldId(View(name)); }
kcm_cursor Member(kcm_cursor c, kcm_str name) {
  if (c.a == 0) return {0, 0};
  const uint32_t node = Below(c, View(name));
  if (node == ReadMask::kHidden) return {0, 0};
  return Make(Handle(c), At(c).Member(View(name)), node);
}
kcm_cursor Field(kcm_cursor c, uint32_t id) {
  if (c.a == 0) return {0, 0};
  const uint32_t node = MaskNode(c) == 0 ? 0 : Below(c, wire::FieldName(id));
  if (node == ReadMask::kHidden) return {0, 0};
  return Make(Handle(c), At(c).Field(id), node);
}
uint32_t Kind(kcm_cursor c) { return static_cast<uint32_t>(At(c).kind()); }

bool Filtered(kcm_cursor c, Value v) {
  return MaskNode(c) != 0 && v.kind() == rules::Kind::kObject;
}

uint64_t Count(kcm_cursor c) {
  const Value v = At(c);
  if (!Filtered(c, v)) return v.size();
  uint64_t n = 0;
  for (size_t i = 0; i < v.size(); ++i)
    if (Below(c, v.Entry(i).first) != ReadMask::kHidden) ++n;
  return n;
}
kcm_cursor Item(kcm_cursor c, uint64_t index) {
  const Value v = At(c);
  if (v.kind() != rules::Kind::kArray || index >= v.size()) return {0, 0};
  // A mask names members: list items keep the list's node.
  return Make(Handle(c), v.At(index), MaskNode(c));
}
kcm_cursor EntryAt(kcm_cursor c, uint64_t index, kcm_str* name) {
  *name = {nullptr, 0};
  const Value v = At(c);
  if (v.kind() != rules::Kind::kObject) return {0, 0};
  if (!Filtered(c, v)) {
    if (index >= v.size()) return {0, 0};
    const auto [key, value] = v.Entry(index);
    *name = TextOf(key);
    return Make(Handle(c), value, 0);
  }
  for (size_t i = 0; i < v.size(); ++i) {
    const auto [key, value] = v.Entry(i);
    const uint32_t node = Below(c, key);
    if (node == ReadMask::kHidden || index-- > 0) continue;
    *name = TextOf(key);
    return Make(Handle(c), value, node);
  }
  return {0, 0};
}
kcm_str String(kcm_cursor c) { return TextOf(At(c).String()); }
int64_t Integer(kcm_cursor c) {
  const Value v = At(c);
  return v.kind() == rules::Kind::kInt || v.kind() == rules::Kind::kDouble ? v.Int() : 0;
}
double Real(kcm_cursor c) {
  const Value v = At(c);
  return v.kind() == rules::Kind::kInt || v.kind() == rules::Kind::kDouble ? v.Real() : 0;
}
uint32_t Boolean(kcm_cursor c) {
  const Value v = At(c);
  return v.kind() == rules::Kind::kBool && v.Bool() ? 1 : 0;
}
kcm_str NamespaceOf(const kcm_object* o) { return TextOf(o->object->Namespace()); }
kcm_str NameOf(const kcm_object* o) { return TextOf(o->object->Name()); }
kcm_str UidOf(const kcm_object* o) { return TextOf(o->object->Uid()); }
kcm_str ResourceVersionOf(const kcm_object* o) { return TextOf(o->object->ResourceVersionText()); }
uint32_t IsWhole(const kcm_object* o) { return !o->mask && o->object->whole() ? 1 : 0; }

// Text and comparison see what the mask shows. Below a masked value the depth is the mask's own,
// plus nested lists, which decoding bounds.
void WriteJson(kcm_cursor c, std::string* out) {
  const Value v = At(c);
  if (MaskNode(c) == 0 || (v.kind() != rules::Kind::kObject && v.kind() != rules::Kind::kArray)) {
    wire::EncodeJson(v, nullptr, out);
    return;
  }
  const bool object = v.kind() == rules::Kind::kObject;
  *out += object ? '{' : '[';
  const uint64_t n = Count(c);
  for (uint64_t i = 0; i < n; ++i) {
    if (i > 0) *out += ',';
    kcm_str name{};
    const kcm_cursor below = object ? EntryAt(c, i, &name) : Item(c, i);
    if (object) {
      rules::AppendJsonString(*out, View(name));
      *out += ':';
    }
    WriteJson(below, out);
  }
  *out += object ? '}' : ']';
}

bool Same(kcm_cursor x, kcm_cursor y) {
  const rules::Kind kind = At(x).kind();
  if ((MaskNode(x) == 0 && MaskNode(y) == 0) || kind != At(y).kind() ||
      (kind != rules::Kind::kObject && kind != rules::Kind::kArray))
    return wire::DeepEqual(At(x), At(y));
  const uint64_t n = Count(x);
  if (n != Count(y)) return false;
  for (uint64_t i = 0; i < n; ++i) {
    kcm_str name{};
    const kcm_cursor a = kind == rules::Kind::kObject ? EntryAt(x, i, &name) : Item(x, i);
    const kcm_cursor b = kind == rules::Kind::kObject ? Member(y, name) : Item(y, i);
    if (b.a == 0 || !Same(a, b)) return false;
  }
  return true;
}

int32_t ToJson(kcm_cursor c, void (*write)(void*, kcm_str), void* sink) {
  const Value v = At(c);
  if (v.kind() == rules::Kind::kAbsent) return KCM_ERR_NOT_FOUND;
  std::string out;
  WriteJson(c, &out);
  write(sink, TextOf(out));
  return KCM_OK;
}
uint32_t Equal(kcm_cursor x, kcm_cursor y) { return Same(x, y) ? 1 : 0; }

}  // namespace

uint32_t ReadMask::Add(const wire::Mask::Node& from) {
  const auto index = static_cast<uint32_t>(nodes_.size());
  nodes_.emplace_back();
  std::vector<std::pair<std::string, uint32_t>> children;
  for (const wire::Mask::Node& child : from.children)
    children.emplace_back(child.name, child.all() ? 0 : Add(child));
  std::sort(children.begin(), children.end());
  nodes_[index].children = std::move(children);
  return index;
}

std::shared_ptr<const ReadMask> ReadMask::Make(const wire::Mask& mask) {
  if (mask.keeps_all()) return nullptr;
  auto out = std::make_shared<ReadMask>();
  out->nodes_.emplace_back();
  out->Add(*mask.root());
  // metadata, kind and apiVersion are always readable (kcm/declaration.h).
  auto& top = out->nodes_[1].children;
  for (const char* name : {"apiVersion", "kind", "metadata"}) {
    const auto it =
        std::lower_bound(top.begin(), top.end(), std::pair<std::string, uint32_t>(name, 0));
    if (it != top.end() && it->first == name)
      it->second = 0;
    else
      top.insert(it, {name, 0});
  }
  return out;
}

uint32_t ReadMask::Child(uint32_t node, std::string_view name) const {
  const auto& children = nodes_[node].children;
  const auto it =
      std::lower_bound(children.begin(), children.end(), name,
                       [](const auto& child, std::string_view n) { return child.first < n; });
  return it == children.end() || it->first != name ? kHidden : it->second;
}

kcm_object* NewHandle(wire::ObjectPtr object, std::shared_ptr<const ReadMask> mask,
                      HandleCount count) {
  if (count) count->fetch_add(1, std::memory_order_acq_rel);
  return new kcm_object{{1}, std::move(object), std::move(mask), std::move(count)};
}

const wire::ObjectPtr& ObjectOf(const kcm_object* handle) { return handle->object; }

const kcm_object_api& ObjectTable() {
  static constexpr kcm_object_api kTable = {sizeof(kcm_object_api),
                                            0,
                                            AddRef,
                                            Release,
                                            Root,
                                            FieldId,
                                            Field,
                                            Member,
                                            Kind,
                                            Count,
                                            Item,
                                            EntryAt,
                                            String,
                                            Integer,
                                            Real,
                                            Boolean,
                                            NamespaceOf,
                                            NameOf,
                                            UidOf,
                                            ResourceVersionOf,
                                            IsWhole,
                                            ToJson,
                                            Equal};
  return kTable;
}

}  // namespace kcm::host::plugin
