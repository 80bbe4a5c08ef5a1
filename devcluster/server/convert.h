// SPDX-License-Identifier: Apache-2.0
// Conversions between the store's flat objects, editable Json and bodies of requests. Pure and
// thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/api/strategy.h"
#include "host/wire/codec.h"
#include "host/wire/object.h"

namespace kcm::devcluster {

// Editable copy, without kind and apiVersion (unless the object holds them).
Json Editable(host::wire::Value value);
// Editable copy with kind and apiVersion in front.
Json Editable(const host::wire::Object& object, const host::wire::TypeMeta& type);

// The flat object of `object`, which must hold kind and apiVersion. Throws Failure (500) for what
// the codec refuses.
host::wire::ObjectPtr ToFlat(const Json& object);
// The same with this metadata.resourceVersion.
host::wire::ObjectPtr ToFlat(const Json& object, uint64_t revision);
// The same without a copy of the tree: the revision is written into it.
host::wire::ObjectPtr ToFlatInPlace(Json* object, uint64_t revision);

// Bounded parse of a JSON body: throws Failure 400 with `what` in front. `duplicates` (may be
// nullptr) gets the path of each member that occurs twice; the last one wins.
Json ParseJson(std::string_view text, std::vector<std::string>* duplicates);
// YAML (of which JSON is a part).
Json ParseYaml(const std::string& text);
std::string Dump(const Json& value);

// Text member by path, "" when absent or not text.
std::string TextAt(const Json& object, std::initializer_list<const char*> path);
// Member by path, nullptr when absent.
const Json* Find(const Json& object, std::initializer_list<const char*> path);

}  // namespace kcm::devcluster
