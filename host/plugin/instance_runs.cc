// SPDX-License-Identifier: Apache-2.0
// Runs of an instance: reconciles and tasks, their scopes, waits inside them.
#include "host/plugin/entry.h"
#include "host/plugin/instance.h"
#include "host/plugin/plugin_error.h"
#include "host/plugin/tables.h"

namespace kcm::host::plugin {

void Instance::BeginScope(kcm_scope* scope) {
  const std::lock_guard lock(scopes_mutex_);
  scopes_.insert(scope);
  if (cancel_.cancelled() || scopes_cancelled_) scope->cancel.Cancel();
}

std::string Instance::EndScope(kcm_scope* scope) {
  std::string failed_request;
  {
    std::unique_lock lock(wait_mutex_);
    env().clock->Wait(lock, wait_cv_, clock::MonoTime::Max(),
                      [&] { return scope->submitted == 0; });
    failed_request = std::move(scope->failed_request);
  }
  const std::lock_guard lock(scopes_mutex_);
  scopes_.erase(scope);
  return failed_request;
}

kcm_outcome Instance::Reconcile(uint32_t queue, const std::string& key, int failures,
                                Error* error) {
  kcm_scope scope;
  scope.instance = this;
  scope.key = key;
  BeginScope(&scope);
  kcm_reconcile run{};
  run.size = sizeof(run);
  run.queue = queue;
  run.key = TextOf(key);
  run.scope = &scope;
  run.failures = failures;
  kcm_outcome outcome{};
  outcome.size = sizeof(outcome);
  outcome.kind = KCM_OUTCOME_DONE;
  PluginError text;
  int32_t code = KCM_OK;
  {
    const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kWorker,
                      key);
    code = declaration_->api->reconcile(controller_, &run, &outcome, text.c());
  }
  const bool cut_short = scope.cancel.cancelled();
  const std::string failed_request = EndScope(&scope);
  if (code != KCM_OK && outcome.kind != KCM_OUTCOME_RETRY) outcome.kind = KCM_OUTCOME_ERROR;
  if (outcome.kind >= KCM_OUTCOME_RETRY)
    *error = MakeError(cut_short        ? Code::kCancelled
                       : code == KCM_OK ? Code::kOk
                                        : static_cast<Code>(code),
                       text.Reason(code, failed_request));
  return outcome;
}

Status Instance::RunTask(uint32_t task) {
  kcm_scope scope;
  scope.instance = this;
  BeginScope(&scope);
  PluginError text;
  int32_t code = KCM_OK;
  {
    const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kTask);
    code = declaration_->api->on_task(controller_, task, &scope, text.c());
  }
  const std::string failed_request = EndScope(&scope);
  if (code == KCM_OK) return Ok();
  return MakeError(static_cast<Code>(code), text.Reason(code, failed_request));
}

int32_t Instance::WaitReady(kcm_scope* scope, int64_t timeout_ns, uint32_t (*ready)(void*),
                            void* data) {
  client::Cancellation& cancel = scope != nullptr ? scope->cancel : cancel_;
  const clock::MonoTime deadline = timeout_ns < 0
                                       ? clock::MonoTime::Max()
                                       : env().clock->Monotonic() + clock::Duration(timeout_ns);
  while (true) {
    // Counted before `ready` looks: a wake between its look and the wait ends the wait at once. It
    // looks without our lock, as it may take one that is held where wake() is called.
    uint64_t seen = 0;
    {
      const std::lock_guard lock(wait_mutex_);
      seen = wakes_;
    }
    if (ready(data) != 0) return KCM_OK;
    if (cancel.cancelled()) return KCM_ERR_CANCELLED;
    if (env().clock->Monotonic() >= deadline) return KCM_ERR_TIMEOUT;
    std::unique_lock lock(wait_mutex_);
    env().clock->Wait(lock, wait_cv_, deadline,
                      [&] { return wakes_ != seen || cancel.cancelled(); });
  }
}

void Instance::Wake() {
  const std::lock_guard lock(wait_mutex_);
  ++wakes_;
  wait_cv_.notify_all();
}

void Instance::CancelAll() {
  cancel_.Cancel();
  control_.Finish();
  CancelScopes();
}

void Instance::CancelScopes() {
  {
    const std::lock_guard lock(scopes_mutex_);
    scopes_cancelled_ = true;
    for (kcm_scope* scope : scopes_) scope->cancel.Cancel();
  }
  Wake();
}

void Instance::AllowScopes() {
  const std::lock_guard lock(scopes_mutex_);
  scopes_cancelled_ = false;
}

}  // namespace kcm::host::plugin
