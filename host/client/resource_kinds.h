// SPDX-License-Identifier: Apache-2.0
// Which kind a built-in resource holds, so that protobuf can be asked for and decoded without
// discovery (spec/wire.md).
#pragma once
#include <string_view>

#include "host/client/client.h"

namespace kcm::host::client {

// "pods" -> "Pod"; "" for a resource that no built-in kind has.
std::string_view KindOfResource(std::string_view resource);
// The codec's message of a resource's objects: "core.v1.Pod"; "" when only JSON will do.
std::string_view MessageOfResource(const Gvr& gvr);

}  // namespace kcm::host::client
