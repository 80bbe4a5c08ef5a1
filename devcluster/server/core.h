// SPDX-License-Identifier: Apache-2.0
// What all handlers of the server share: State (the server's parts) and Request (one request on its
// way).
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "devcluster/api/strategy.h"
#include "devcluster/server/failure.h"
#include "devcluster/server/http_connection.h"
#include "devcluster/server/media_type.h"
#include "devcluster/server/resources.h"
#include "devcluster/server/store.h"
#include "devcluster/server/url.h"
#include "host/clock/clock.h"

namespace kcm::devcluster {

class TokenIssuer;
class CustomKinds;

// Parts of the server. Set up before the first request, constant afterwards; each part is
// thread-safe.
struct State {
  host::clock::Clock* clock = nullptr;
  const KindRegistry* kinds = nullptr;
  Store* store = nullptr;
  Resources* resources = nullptr;
  const TokenIssuer* tokens = nullptr;
  const Reader* reader = nullptr;
  CustomKinds* custom = nullptr;
  std::string server_version;
  std::string url;  // of this server, for discovery
  std::string address_and_port;
  bool watch_list = true;
  bool gather_events =
      true;  // busy watches wait some milliseconds of real time to send more at once
  std::atomic<uint64_t> watch_epoch{
      0};  // moves when all watches must end; watches are woken after it moved
  std::atomic<bool> stopping{false};
};

struct Request {
  const HttpRequest* http = nullptr;
  Connection* connection = nullptr;
  Target target;
  Query query{""};
  UserInfo user;
  std::string field_manager;  // from the User-Agent unless given
  std::vector<std::string> warnings;
  ResourcePtr resource;  // nullptr when the path names none
  RequestInfo info;
  int code = 0;  // answered with
  // Set while a watch is open: the request no longer counts as one in flight.
  std::function<void()> settled;
  bool cut_watch = false;  // Fault::Kind::kWatchCut
};

struct Answer {
  int code = 200;
  std::string content_type = "application/json";
  std::string headers;  // complete lines
  std::string body;
  bool sent = false;  // the handler has answered by itself

  static Answer Of(int code, std::string body) {
    Answer a;
    a.code = code;
    a.body = std::move(body);
    return a;
  }
};

// Times of the cluster, RFC 3339 UTC.
std::string FormatSeconds(host::clock::WallTime t);
std::string FormatMicros(host::clock::WallTime t);
// Seconds since 1970 of an RFC 3339 time, nullopt when it is none.
std::optional<int64_t> ParseSeconds(std::string_view text);
std::string SecondsText(int64_t since_1970);

// "Warning: 299 - ..." lines.
std::string WarningHeaders(const std::vector<std::string>& warnings);

// ---- answers (answer.cc) ----
// A single object in the form that the client accepts. `object` is in the stored form.
Answer ObjectAnswer(const State& state, const Request& request, int code, const Resource& resource,
                    const host::wire::ObjectPtr& object);
// Object of `resource` as the request's version has it.
host::wire::ObjectPtr InVersion(const Resource& resource, const host::wire::ObjectPtr& stored);
// Editable form in the request's version, with kind and apiVersion.
Json EditableInVersion(const Resource& resource, const host::wire::Object& stored);
// A Json that is not a stored object (Scale, reviews): JSON, or protobuf where the client wants
// only that.
Answer JsonAnswer(const Request& request, int code, const Json& body);
Answer StatusAnswer(const ApiError& error);
// {"kind":"Status",...,"status":"Success","details":...}; code 0: no code member.
Answer SuccessAnswer(int http_code, const Json& details, int code);
// Offer of object requests: protobuf for kinds that have a message.
Offer OfferFor(const Resource& resource);

// ---- read.cc ----
Answer HandleGet(const State& state, Request& request);
Answer HandleList(const State& state, Request& request);
// ---- watch.cc ----
Answer HandleWatch(const State& state, Request& request);

// Revision parameter: 0 when empty or "0". Throws 400 / 500.
uint64_t RevisionParameter(const std::string& text, int error_code);

}  // namespace kcm::devcluster
