// SPDX-License-Identifier: Apache-2.0
// What decoders of foreign bytes accept; codec.h and their error texts name the same figures.
// Private to host/wire.
#pragma once
#include <cstddef>

namespace kcm::host::wire {

constexpr int kMaxDepth = 200;                 // levels of a document
constexpr size_t kMaxPart = size_t{64} << 20;  // bytes of one item of a list, one event of a watch

}  // namespace kcm::host::wire
