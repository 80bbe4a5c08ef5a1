// SPDX-License-Identifier: Apache-2.0
// Comparing what was written with what the caches have seen.
#include "plugins/pod/ownership/own_writes.h"

#include <algorithm>
#include <string>

namespace kcm::pod {

OwnWrites::OwnWrites(const sdk::Context& context, const Skips& skips, std::span<const Shown> shown)
    : cache_(context.cache()),
      shown_(shown),
      skips_(context.DefineMetric({.name = skips.name,
                                   .help = skips.help,
                                   .labels = {"group", "resource"},
                                   .buckets = {}})) {}

void OwnWrites::Wrote(std::string_view key, std::string_view uid, const sdk::Resource& resource,
                      std::string_view version) {
  barrier_.Wrote(key, uid, resource.resource, version);
}

std::optional<Error> OwnWrites::NotShownYet(std::string_view key) {
  const std::optional<std::string> stale = barrier_.Stale(key, [this](std::string_view resource) {
    const Shown* shown = Find(resource);
    const uint64_t version = shown == nullptr ? 0 : cache_.ResourceVersion(shown->watch);
    return version == 0 ? std::string() : std::to_string(version);
  });
  if (!stale) return std::nullopt;
  if (const Shown* shown = Find(*stale)) skips_.Add({shown->resource.group, *stale});
  return MakeError(Code::kConflict,
                   "the cache of " + *stale + " does not show the controller's own writes yet");
}

void OwnWrites::Forget(std::string_view key, std::string_view uid) { barrier_.Forget(key, uid); }

const OwnWrites::Shown* OwnWrites::Find(std::string_view resource) const {
  const auto it = std::find_if(shown_.begin(), shown_.end(), [resource](const Shown& shown) {
    return shown.resource.resource == resource;
  });
  return it == shown_.end() ? nullptr : &*it;
}

}  // namespace kcm::pod
