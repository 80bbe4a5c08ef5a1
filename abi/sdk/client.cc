// SPDX-License-Identifier: Apache-2.0
// Client of the SDK: requests, edits and batches over the host's client table.
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "kcm/sdk/services.h"

namespace kcm::sdk {
namespace {

constexpr std::string_view kScale = "scale";
// The one form of it that servers since 1.16 know.
constexpr Resource kScaleType{
    .group = "autoscaling", .version = "v1", .resource = {}, .kind = "Scale"};

Resource AsResource(const ServedResource& r) {
  return {.group = r.group, .version = r.version, .resource = r.resource, .kind = r.kind};
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

kcm_request MakeRequest(uint32_t verb, const Resource& r, std::string_view ns,
                        std::string_view name, const CallOptions& o) {
  kcm_request c{};
  c.size = sizeof(c);
  c.verb = verb;
  c.flags = o.metadata_only ? KCM_REQUEST_METADATA_ONLY : 0u;
  c.group = Str(r.group);
  c.version = Str(r.version);
  c.resource = Str(r.resource);
  c.namespace_name = Str(ns);
  c.name = Str(name);
  c.subresource = Str(o.subresource);
  c.query = Str(o.query);
  c.timeout_ns = o.timeout.count();
  return c;
}

Error ErrorOf(const kcm_answer& a) {
  Error e;
  e.code = static_cast<Code>(a.code);
  e.message = std::string(View(a.message));
  e.reason = std::string(View(a.reason));
  e.cause = std::string(View(a.cause));
  e.http_status = a.http_status;
  e.retry_after_ns = a.retry_after_ns;
  return e;
}

// The answer's object; its error; or, for an answer without an object where one was asked for, an
// error too.
Result<WholeRef> Take(const Services* s, int32_t code, kcm_answer* answer) {
  if (answer == nullptr) return MakeError(static_cast<Code>(code), "the host refused the request");
  Result<WholeRef> out = MakeError(Code::kInternal, "the answer holds no object");
  if (code != KCM_OK) {
    out = ErrorOf(*answer);
  } else if (answer->object != nullptr) {
    out = WholeRef::Share(answer->object);
  }
  s->client->answer_release(answer);
  return out;
}

// Success of an answer whose object does not matter.
Status Discard(const Services* s, int32_t code, kcm_answer* answer) {
  if (answer == nullptr) return MakeError(static_cast<Code>(code), "the host refused the request");
  Status out = code == KCM_OK ? Ok() : Status(ErrorOf(*answer));
  s->client->answer_release(answer);
  return out;
}

std::string DeleteBody(const DeleteOptions& d) {
  Json body{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  switch (d.propagation) {
    case Propagation::kBackground:
      body["propagationPolicy"] = "Background";
      break;
    case Propagation::kForeground:
      body["propagationPolicy"] = "Foreground";
      break;
    case Propagation::kOrphan:
      body["propagationPolicy"] = "Orphan";
      break;
    case Propagation::kUnset:
      break;
  }
  if (!d.uid.empty()) body["preconditions"]["uid"] = d.uid;
  if (!d.resource_version.empty()) body["preconditions"]["resourceVersion"] = d.resource_version;
  if (d.grace_period_seconds >= 0) body["gracePeriodSeconds"] = d.grace_period_seconds;
  return Dump(body);
}

}  // namespace

Edit::Edit(const WholeRef& from) : json_(std::make_unique<Json>(from.ToJson())) {}
Edit::Edit(Edit&&) noexcept = default;
Edit& Edit::operator=(Edit&&) noexcept = default;
Edit::~Edit() = default;
Json& Edit::json() { return *json_; }
const Json& Edit::json() const { return *json_; }

Result<WholeRef> Client::Call(kcm_request& request) const {
  kcm_answer* answer = nullptr;
  const int32_t code = s_->client->call(s_->context, scope_, &request, &answer);
  return Take(s_, code, answer);
}

Result<WholeRef> Client::Get(const Resource& r, std::string_view ns, std::string_view name,
                             const CallOptions& o) const {
  kcm_request c = MakeRequest(KCM_VERB_GET, r, ns, name, o);
  return Call(c);
}

Result<WholeRef> Client::List(const Resource& r, std::string_view ns, const CallOptions& o) const {
  kcm_request c = MakeRequest(KCM_VERB_LIST, r, ns, {}, o);
  return Call(c);
}

Result<WholeRef> Client::Create(const Resource& r, std::string_view ns, const Json& body,
                                const CallOptions& o) const {
  return CreateText(r, ns, Dump(body), o);
}

Result<WholeRef> Client::CreateText(const Resource& r, std::string_view ns, std::string_view body,
                                    const CallOptions& o) const {
  kcm_request c = MakeRequest(KCM_VERB_CREATE, r, ns, {}, o);
  c.body = Str(body);
  return Call(c);
}

Result<WholeRef> Client::Update(const Resource& r, const Edit& edit, const CallOptions& o) const {
  return Put(r, r, edit, o);
}

Result<WholeRef> Client::GetScale(const ServedResource& r, std::string_view ns,
                                  std::string_view name) const {
  return Get(AsResource(r), ns, name, {.subresource = kScale});
}

Result<WholeRef> Client::UpdateScale(const ServedResource& r, const Edit& scale) const {
  return Put(AsResource(r), kScaleType, scale, {.subresource = kScale});
}

Result<WholeRef> Client::Put(const Resource& r, const Resource& type, const Edit& edit,
                             const CallOptions& o) const {
  Json body = edit.json();
  body["apiVersion"] = type.ApiVersion();
  body["kind"] = type.kind;
  const Json& metadata = body["metadata"];
  const std::string ns = metadata.value("namespace", ""), name = metadata.value("name", "");
  const std::string text = Dump(body);
  kcm_request c = MakeRequest(KCM_VERB_UPDATE, r, ns, name, o);
  c.body = Str(text);
  return Call(c);
}

Result<WholeRef> Client::PatchObject(const Resource& r, std::string_view ns, std::string_view name,
                                     Patch type, std::string_view body,
                                     const CallOptions& o) const {
  kcm_request c = MakeRequest(KCM_VERB_PATCH, r, ns, name, o);
  c.patch_type = static_cast<uint32_t>(type);
  c.body = Str(body);
  return Call(c);
}

Status Client::Delete(const Resource& r, std::string_view ns, std::string_view name,
                      const DeleteOptions& d, const CallOptions& o) const {
  const std::string body = DeleteBody(d);
  kcm_request c = MakeRequest(KCM_VERB_DELETE, r, ns, name, o);
  c.flags |= KCM_REQUEST_NO_ANSWER;
  c.body = Str(body);
  kcm_answer* answer = nullptr;
  const int32_t code = s_->client->call(s_->context, scope_, &c, &answer);
  return Discard(s_, code, answer);
}

Status Client::DeleteCollection(const Resource& r, std::string_view ns, const DeleteOptions& d,
                                const CallOptions& o) const {
  const std::string body = DeleteBody(d);
  kcm_request c = MakeRequest(KCM_VERB_DELETE_COLLECTION, r, ns, {}, o);
  c.flags |= KCM_REQUEST_NO_ANSWER;
  c.body = Str(body);
  kcm_answer* answer = nullptr;
  const int32_t code = s_->client->call(s_->context, scope_, &c, &answer);
  return Discard(s_, code, answer);
}

Result<std::string> Client::Raw(std::string_view path) const {
  kcm_request c{};
  c.size = sizeof(c);
  c.verb = KCM_VERB_GET;
  c.flags = KCM_REQUEST_RAW;
  c.raw_path = Str(path);
  kcm_answer* answer = nullptr;
  const int32_t code = s_->client->call(s_->context, scope_, &c, &answer);
  if (answer == nullptr) return MakeError(static_cast<Code>(code), "the host refused the request");
  Result<std::string> out =
      code == KCM_OK ? Result<std::string>(std::string(View(answer->raw))) : ErrorOf(*answer);
  s_->client->answer_release(answer);
  return out;
}

// ---- batches ----
struct Client::Batch::State {
  std::mutex mutex;
  std::condition_variable all_done;
  size_t open = 0;  // guarded by mutex

  void Begin() {
    const std::lock_guard lock(mutex);
    ++open;
  }
  // The last one to end wakes the waiter.
  void End(const Services* s) {
    {
      const std::lock_guard lock(mutex);
      if (--open > 0) return;
      all_done.notify_all();
    }
    s->cancel->wake(s->context);
  }
  bool Done() {
    const std::lock_guard lock(mutex);
    return open == 0;
  }
};

namespace {
// One submitted call, freed by its completion.
struct Pending {
  const Services* services;
  std::function<void(int32_t, kcm_answer*)> done;
};
void Complete(void* data, kcm_answer* answer) noexcept {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(data));
  (void)internal::AtTheEdge(nullptr, [&]() -> int32_t {
    pending->done(answer->code, answer);
    return KCM_OK;
  });
}
void Submit(const Services* s, kcm_scope* scope, const kcm_request& request,
            std::function<void(int32_t, kcm_answer*)> done) {
  auto pending = std::make_unique<Pending>(Pending{s, std::move(done)});
  const int32_t code = s->client->submit(s->context, scope, &request, Complete, pending.get());
  if (code != KCM_OK) {
    pending->done(code, nullptr);
    return;
  }
  (void)pending.release();
}
}  // namespace

Client::Batch::Batch(const Client& client) : state_(std::make_shared<State>()), client_(client) {}
Client::Batch::~Batch() { Wait(); }

void Client::Batch::SubmitForObject(const kcm_request& request,
                                    std::function<void(Result<WholeRef>)> done) {
  state_->Begin();
  const Services* s = client_.s_;
  Submit(s, client_.scope_, request,
         [s, state = state_, done = std::move(done)](int32_t code, kcm_answer* answer) {
           const auto end = [s](State* st) { st->End(s); };  // also when `done` throws
           const std::unique_ptr<State, decltype(end)> at_exit(state.get(), end);
           done(Take(s, code, answer));
         });
}

void Client::Batch::CreateText(const Resource& r, std::string_view ns, std::string_view body,
                               std::function<void(Result<WholeRef>)> done) {
  kcm_request c = MakeRequest(KCM_VERB_CREATE, r, ns, {}, {});
  c.body = Str(body);
  SubmitForObject(c, std::move(done));
}

void Client::Batch::Delete(const Resource& r, std::string_view ns, std::string_view name,
                           const DeleteOptions& d, std::function<void(Status)> done) {
  const std::string body = DeleteBody(d);
  kcm_request c = MakeRequest(KCM_VERB_DELETE, r, ns, name, {});
  c.flags |= KCM_REQUEST_NO_ANSWER;
  c.body = Str(body);
  state_->Begin();
  const Services* s = client_.s_;
  Submit(s, client_.scope_, c,
         [s, state = state_, done = std::move(done)](int32_t code, kcm_answer* answer) {
           const auto end = [s](State* st) { st->End(s); };  // also when `done` throws
           const std::unique_ptr<State, decltype(end)> at_exit(state.get(), end);
           done(Discard(s, code, answer));
         });
}

void Client::Batch::PatchObject(const Resource& r, std::string_view ns, std::string_view name,
                                Patch type, std::string_view body,
                                std::function<void(Result<WholeRef>)> done) {
  kcm_request c = MakeRequest(KCM_VERB_PATCH, r, ns, name, {});
  c.patch_type = static_cast<uint32_t>(type);
  c.body = Str(body);
  SubmitForObject(c, std::move(done));
}

void Client::Batch::Wait() {
  // Waits on the host's clock, so that rate limits of the calls can pass. A cancelled scope ends
  // that wait early; the host then completes what is open as cancelled, for which the second wait
  // is.
  const Services* s = client_.s_;
  const auto ready = [](void* data) noexcept -> uint32_t {
    return static_cast<State*>(data)->Done() ? 1 : 0;
  };
  (void)s->cancel->wait(s->context, client_.scope_, -1, ready, state_.get());
  std::unique_lock lock(state_->mutex);
  state_->all_done.wait(lock, [&] { return state_->open == 0; });
}

}  // namespace kcm::sdk
