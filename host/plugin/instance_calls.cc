// SPDX-License-Identifier: Apache-2.0
// Requests of an instance: generation fence, record of writes, answers across the ABI.
#include <algorithm>

#include "host/client/request.h"
#include "host/plugin/call_pool.h"
#include "host/plugin/entry.h"
#include "host/plugin/instance.h"
#include "host/plugin/tables.h"

namespace kcm::host::plugin {
namespace {

// A server that does not answer is asked again.
constexpr auto kLookLimit = std::chrono::seconds(10);

// A kcm_answer and what its members point to. Freed through ReleaseAnswer.
struct OwnedAnswer {
  kcm_answer c{};
  std::string raw, message, reason, cause;
};

kcm_answer* MakeAnswer(Result<client::Answer> result, uint32_t flags, const HandleCount& handles) {
  auto out = std::make_unique<OwnedAnswer>();
  out->c.size = sizeof(kcm_answer);
  out->c.code = static_cast<int32_t>(result.code());
  out->c.retry_after_ns = -1;
  if (result.ok()) {
    out->c.http_status = result->http_status;
    out->raw = std::move(result->raw);
    if (result->object && (flags & KCM_REQUEST_NO_ANSWER) == 0)
      out->c.object = NewHandle(std::move(result->object), nullptr, handles);
  } else {
    const Error& e = result.error();
    out->c.http_status = e.http_status;
    out->c.retry_after_ns = e.retry_after_ns;
    out->message = e.message;
    out->reason = e.reason;
    out->cause = e.cause;
  }
  out->c.raw = TextOf(out->raw);
  out->c.message = TextOf(out->message);
  out->c.reason = TextOf(out->reason);
  out->c.cause = TextOf(out->cause);
  return &out.release()->c;
}

bool Writes(client::Verb verb) {
  return verb == client::Verb::kCreate || verb == client::Verb::kUpdate ||
         verb == client::Verb::kPatch || verb == client::Verb::kDelete ||
         verb == client::Verb::kDeleteCollection;
}

}  // namespace

void ReleaseAnswer(kcm_answer* answer) {
  if (answer == nullptr) return;
  ObjectTable().release(answer->object);
  static_assert(offsetof(OwnedAnswer, c) == 0);
  delete reinterpret_cast<OwnedAnswer*>(answer);
}

Status Instance::Check(clock::MonoTime* deadline) const {
  *deadline = clock::MonoTime::Max();
  switch (state()) {
    case State::kActive:
      return Ok();
    case State::kStopped:
      return MakeError(Code::kStopped, declaration_->name + " was stopped");
    case State::kPreparing:
      break;
  }
  return MakeError(Code::kFenced, declaration_->name + ": generation " +
                                      std::to_string(generation_) + " is not active yet");
}

uint64_t Instance::Seen(const client::Gvr& gvr) const {
  for (const auto& w : watches_)
    if (w->informer && w->declaration.gvr == gvr) return w->informer->ResourceVersion();
  return UINT64_MAX;
}

bool Instance::CachesAtLeast(const std::function<uint64_t(const std::string&)>& at_least) const {
  const auto behind = [&](const WatchState& w) {
    const client::Gvr& gvr = w.declaration.gvr;
    return w.informer &&
           w.informer->ResourceVersion() < at_least(gvr.ApiVersion() + "/" + gvr.resource);
  };
  for (const auto& w : watches_)
    if (behind(*w)) return false;
  const std::lock_guard lock(runtime_mutex_);
  for (const auto& [id, w] : runtime_watches_)
    if (behind(*w)) return false;
  return true;
}

bool Instance::Holds(const client::Gvr& gvr, std::string_view ns, std::string_view name,
                     std::string_view uid) const {
  for (const auto& w : watches_) {
    if (!w->informer || w->declaration.gvr != gvr) continue;
    const std::string key =
        ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name);
    const wire::ObjectPtr o = w->informer->Get(key);
    return o && (uid.empty() || o->Uid() == uid) &&
           !o->Root().Member("metadata").Member("deletionTimestamp").Has();
  }
  return false;
}

void Instance::RecordWrite(kcm_scope* scope, const client::Call& call,
                           const Result<client::Answer>& answer, const std::string& uid) {
  if (scope == nullptr || scope->key.empty() || !Writes(call.verb)) return;
  if (answer.ok()) {
    if (answer->object)
      shared_->ledger.Wrote(scope->key, call.resource, answer->object->ResourceVersion());
    if (call.verb == client::Verb::kDelete && !uid.empty())
      shared_->ledger.Deleted(scope->key, call.resource, call.ns, call.name, uid);
    return;
  }
  const bool unknown = answer.code() == Code::kTransport || answer.code() == Code::kCancelled ||
                       answer.code() == Code::kTimeout;
  if (unknown && call.verb == client::Verb::kCreate && Seen(call.resource) != UINT64_MAX)
    shared_->ledger.Unknown(scope->key, {call.resource, call.ns}, Now());
}

std::string Instance::UidToDelete(const kcm_scope* scope, const client::Call& call) const {
  if (scope == nullptr || scope->key.empty() || call.verb != client::Verb::kDelete) return "";
  // The answer to a delete often names no uid: a later object of the same name must not count as
  // the one that was deleted.
  for (const auto& w : watches_) {
    if (!w->informer || w->declaration.gvr != call.resource) continue;
    const wire::ObjectPtr o =
        w->informer->Get(call.ns.empty() ? call.name : call.ns + "/" + call.name);
    return o ? std::string(o->Uid()) : "";
  }
  return "";
}

bool Instance::MayRun(const std::string& key) {
  WriteLedger& ledger = shared_->ledger;
  std::string given_up;
  bool ready = ledger.Ready(key, *this, &given_up);
  if (!ready) {
    const std::vector<WriteLedger::Place> places = ledger.ToRead(key, Now());
    for (const WriteLedger::Place& place : places) {
      const Result<uint64_t> newest = NewestIn(place);
      if (!newest.ok())
        shared_->log.Info(2, "Looking for a create without an answer failed, it is tried again",
                          {{"key", key}, {"reason", newest.error().message}});
      ledger.Read(place, newest.ok() ? std::optional(*newest) : std::nullopt, Now());
    }
    if (!places.empty()) ready = ledger.Ready(key, *this, &given_up);
  }
  if (!given_up.empty())
    shared_->log.Info(2, "Caches do not show writes of the build before, the key runs all the same",
                      {{"key", key}, {"missing", given_up}});
  return ready;
}

Result<uint64_t> Instance::NewestIn(const WriteLedger::Place& place) {
  const cache::InformerKey* cached = nullptr;
  for (const auto& w : watches_) {
    if (!w->informer || w->declaration.gvr != place.gvr) continue;
    cached = &w->informer->key();
    break;
  }
  // What the cache does not hold it never shows.
  if (cached == nullptr || (!cached->ns.empty() && cached->ns != place.ns)) return 0;
  const std::shared_ptr<client::Client> client = services().client;
  if (state() != State::kActive || !client) return MakeError(Code::kStopped, "not active");
  kcm_scope scope;  // a hand-over or stop ends the request
  scope.instance = this;
  BeginScope(&scope);
  client::Call call;
  call.verb = client::Verb::kList;
  call.resource = place.gvr;
  call.ns = place.ns;
  call.form = client::Form::kMetadataOnly;
  call.timeout = kLookLimit;
  call.cancel = &scope.cancel;
  call.retry_lost = false;  // the ledger has a back-off
  if (!cached->field_selector.empty())
    call.query = "fieldSelector=" + client::EscapeSegment(cached->field_selector);
  // No resourceVersion: as new as the server itself. The version of the answer is that of the whole
  // server, which a cache of a resource at rest may not reach for a minute; those of the objects
  // are reached by their events.
  uint64_t newest = 0;
  const Result<client::ListResult> listed = client->List(
      call, [&](const wire::ObjectPtr& o) { newest = std::max(newest, o->ResourceVersion()); });
  (void)EndScope(&scope);
  if (listed.ok()) return newest;
  // Trying again does not help: the next event has to do.
  if (listed.code() == Code::kForbidden) return Seen(place.gvr) + 1;
  return listed.error();
}

kcm_answer* Instance::Send(kcm_scope* scope, client::Call& call, uint32_t flags) {
  call.cancel = scope != nullptr ? &scope->cancel : &cancel_;
  if (Writes(call.verb)) call.fence = this;
  if (state() == State::kStopped)
    return MakeAnswer(MakeError(Code::kStopped, declaration_->name + " was stopped"), flags,
                      handles());
  const std::string uid = UidToDelete(scope, call);
  const std::shared_ptr<client::Client> client = services().client;
  if (!client)  // create() of the first build, before the lease is won
    return MakeAnswer(
        MakeError(Code::kFenced, declaration_->name + ": requests are possible from start() on"),
        flags, handles());
  Result<client::Answer> answer = client->Do(call);
  RecordWrite(scope, call, answer, uid);
  if (scope != nullptr && !answer.ok()) {
    const std::lock_guard lock(wait_mutex_);
    scope->failed_request = answer.error().message;
  }
  return MakeAnswer(std::move(answer), flags, handles());
}

void Instance::CountCompletion(int change) {
  const std::lock_guard lock(wait_mutex_);
  completions_ += change;
  wait_cv_.notify_all();
}

Status Instance::Submit(kcm_scope* scope, client::Call call, const kcm_request& request,
                        kcm_completion done, void* data) {
  const uint32_t flags = request.flags;
  if (scope != nullptr) {
    const std::lock_guard lock(wait_mutex_);
    ++scope->submitted;
  }
  const auto ended = [this, scope] {
    if (scope == nullptr) return;
    const std::lock_guard lock(wait_mutex_);
    --scope->submitted;
    wait_cv_.notify_all();
  };
  const Status taken =
      calls_->Add([this, scope, ended, call = std::move(call), flags, done, data]() mutable {
        kcm_answer* answer = Send(scope, call, flags);
        if (scope == nullptr) CountCompletion(+1);
        {
          const Entry entry(shared_->plugin_name, image_->build(), declaration_->name,
                            Role::kCompletion, scope != nullptr ? scope->key : std::string_view());
          done(data, answer);
        }
        if (scope == nullptr) CountCompletion(-1);
        ended();
      });
  if (!taken.ok()) ended();
  return taken;
}

}  // namespace kcm::host::plugin
