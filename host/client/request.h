// SPDX-License-Identifier: Apache-2.0
// Request: a Call as method, path and headers (spec/host.md 7.4). Pure functions.
#pragma once
#include <string>
#include <string_view>

#include "host/client/client.h"

namespace kcm::host::client {

std::string_view MethodOf(Verb verb);              // "GET"
std::string_view VerbWord(Verb verb);              // "get", "list", "deletecollection"
bool ChangesSomething(Verb verb);                  // what a fence stops
std::string EscapeSegment(std::string_view text);  // one path segment or query value

// Path with query, without the server's prefix:
// "/apis/apps/v1/namespaces/default/deployments/web/scale?timeout=5s".
std::string TargetOf(const Call& call);

// The Accept header, and whether protobuf is asked for. `json_only`: the server refused protobuf
// for this resource before.
struct Accept {
  std::string value;
  bool protobuf = false;
};
Accept AcceptOf(const Call& call, bool json_only);
// "" when there is no body.
std::string ContentTypeOf(const Call& call);
// The codec's message of the items of a list or the objects of a watch; "" when JSON only.
std::string_view ItemMessageOf(const Call& call);

}  // namespace kcm::host::client
