// SPDX-License-Identifier: Apache-2.0
// Keys of the orphan queue.
#include "plugins/pod/job/orphan_key.h"

namespace kcm::pod::job {
namespace {

constexpr std::string_view kSelectorMark = "?";

}  // namespace

std::string OrphanPodKey(std::string_view ns, std::string_view pod) {
  return std::string(ns) + "/" + std::string(pod);
}

std::string OrphansKey(std::string_view ns, const rules::LabelSelector& selector) {
  return std::string(ns) + "/" + std::string(kSelectorMark) + selector.Text();
}

std::optional<std::string_view> SelectorIn(std::string_view name) {
  if (!name.starts_with(kSelectorMark)) return std::nullopt;
  return name.substr(kSelectorMark.size());
}

}  // namespace kcm::pod::job
