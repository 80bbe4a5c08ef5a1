// SPDX-License-Identifier: Apache-2.0
// Answers that are not 2xx, as kcm::Error (spec/host.md 7.6).
#pragma once
#include <string>
#include <string_view>

#include "host/client/client.h"

namespace kcm::host::client {

struct ResponseHead;  // http_exchange.h

// The code of a Status reason; falls back to the HTTP code for unknown or empty reasons.
Code CodeOf(std::string_view reason, int http_status);

// From a Status object (of an answer or a watch's ERROR event). http_status 0: the object's own
// code.
Error ErrorOfStatus(rules::Node status, int http_status);

// `what`: "get pods", for the generic texts. The body may be a Status in either form, text, or
// anything.
Error ErrorOfAnswer(const ResponseHead& head, std::string_view body, std::string_view what);

}  // namespace kcm::host::client
