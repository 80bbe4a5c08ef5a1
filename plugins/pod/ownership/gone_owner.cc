// SPDX-License-Identifier: Apache-2.0
// From changes of owners to those that are gone.
#include "plugins/pod/ownership/gone_owner.h"

namespace kcm::pod {
namespace {

std::string_view UidOfOwner(rules::Node owner) { return owner.Get("metadata").Get("uid").String(); }

}  // namespace

std::optional<GoneOwner> GoneOwnerOf(sdk::Change::Type type, rules::Node was, rules::Node now) {
  switch (type) {
    case sdk::Change::Type::kAdd:
      break;
    case sdk::Change::Type::kUpdate:
      if (UidOfOwner(was) != UidOfOwner(now)) return GoneOwner{UidOfOwner(was), was};
      break;
    case sdk::Change::Type::kDelete:
      return GoneOwner{UidOfOwner(now), now};
  }
  return std::nullopt;
}

}  // namespace kcm::pod
