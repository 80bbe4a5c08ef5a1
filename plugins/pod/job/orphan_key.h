// SPDX-License-Identifier: Apache-2.0
// Keys of the orphan queue: one pod by name, or the pods that a Job's selector matches
// (spec/pod-batch.md 1.2, 1.11). Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/label_selector.h"

namespace kcm::pod::job {

// `namespace/pod`
std::string OrphanPodKey(std::string_view ns, std::string_view pod);
// `namespace/?selector`; no name of a pod begins with a question mark.
std::string OrphansKey(std::string_view ns, const rules::LabelSelector& selector);

// The selector's text in the part of a key after the namespace; nullopt when it is a pod's name.
std::optional<std::string_view> SelectorIn(std::string_view name);

}  // namespace kcm::pod::job
