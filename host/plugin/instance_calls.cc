// SPDX-License-Identifier: Apache-2.0
// Requests of an instance: generation fence, record of writes, answers across the ABI.
#include <algorithm>

#include "host/plugin/call_pool.h"
#include "host/plugin/entry.h"
#include "host/plugin/instance.h"
#include "host/plugin/tables.h"

namespace kcm::host::plugin {
namespace {

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
                           const Result<client::Answer>& answer, const Before& before) {
  if (scope == nullptr || scope->key.empty() || !Writes(call.verb)) return;
  if (answer.ok()) {
    if (answer->object)
      shared_->ledger.Wrote(scope->key, call.resource, answer->object->ResourceVersion());
    if (call.verb == client::Verb::kDelete && !before.uid.empty())
      shared_->ledger.Deleted(scope->key, call.resource, call.ns, call.name, before.uid);
    return;
  }
  const bool unknown = answer.code() == Code::kTransport || answer.code() == Code::kCancelled ||
                       answer.code() == Code::kTimeout;
  if (unknown && call.verb == client::Verb::kCreate && before.seen != UINT64_MAX)
    shared_->ledger.Unknown(scope->key, call.resource, before.seen);
}

Instance::Before Instance::LookBefore(const kcm_scope* scope, const client::Call& call) const {
  Before out;
  if (scope == nullptr || scope->key.empty()) return out;
  if (call.verb == client::Verb::kCreate) out.seen = Seen(call.resource);
  if (call.verb != client::Verb::kDelete) return out;
  // The answer to a delete often names no uid: a later object of the same name must not count as
  // the one that was deleted.
  for (const auto& w : watches_) {
    if (!w->informer || w->declaration.gvr != call.resource) continue;
    const wire::ObjectPtr o =
        w->informer->Get(call.ns.empty() ? call.name : call.ns + "/" + call.name);
    if (o) out.uid = o->Uid();
    break;
  }
  return out;
}

kcm_answer* Instance::Send(kcm_scope* scope, client::Call& call, uint32_t flags) {
  call.cancel = scope != nullptr ? &scope->cancel : &cancel_;
  if (Writes(call.verb)) call.fence = this;
  if (state() == State::kStopped)
    return MakeAnswer(MakeError(Code::kStopped, declaration_->name + " was stopped"), flags,
                      handles());
  const Before before = LookBefore(scope, call);
  const std::shared_ptr<client::Client> client = services().client;
  if (!client)  // create() of the first build, before the lease is won
    return MakeAnswer(
        MakeError(Code::kFenced, declaration_->name + ": requests are possible from start() on"),
        flags, handles());
  Result<client::Answer> answer = client->Do(call);
  RecordWrite(scope, call, answer, before);
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
