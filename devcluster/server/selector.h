// SPDX-License-Identifier: Apache-2.0
// Label and field selectors of list, watch and deletecollection (spec/apiserver D5, D6): the rules
// are kcm/rules', here is what they mean for a stored object and its kind.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "devcluster/api/strategy.h"
#include "host/wire/object.h"
#include "kcm/rules/field_selector.h"
#include "kcm/rules/label_selector.h"

namespace kcm::devcluster {

// Throws Failure 400 with the reference's text.
rules::LabelSelector ParseLabelSelector(std::string_view text);
bool Matches(const rules::LabelSelector& selector, const host::wire::Object& object);

// Keys are checked against the kind. Throws Failure 400.
rules::FieldSelector ParseFieldSelector(std::string_view text, const ResourceKind& kind);
// `kind` as given to ParseFieldSelector.
bool Matches(const rules::FieldSelector& selector, const host::wire::Object& object,
             const ResourceKind& kind);

}  // namespace kcm::devcluster
