// SPDX-License-Identifier: Apache-2.0
// The k8s\0 envelope around a protobuf message (spec/wire.md, "Envelopes"). Private to host/wire.
#pragma once
#include <string_view>

#include "host/wire/codec.h"

namespace kcm::host::wire {

constexpr std::string_view kMagic{"k8s\0", 4};

// Reads runtime.TypeMeta.
Status ReadTypeMeta(std::string_view bytes, TypeMeta* type);
// Splits an envelope; `raw` points into `bytes`.
Status OpenEnvelope(std::string_view bytes, TypeMeta* type, std::string_view* raw);

}  // namespace kcm::host::wire
