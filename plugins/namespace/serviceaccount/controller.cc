// SPDX-License-Identifier: Apache-2.0
// serviceaccount-controller: what wakes it and what it does. Keys are names of namespaces.
#include "plugins/namespace/serviceaccount/controller.h"

#include <optional>
#include <string>

#include "plugins/namespace/serviceaccount/declaration.h"
#include "plugins/namespace/serviceaccount/default_account.h"

namespace kcm::ns::serviceaccount {
namespace {

constexpr sdk::Resource kServiceAccount{"", "v1", "serviceaccounts", "ServiceAccount"};

Status CreateDefaultAccount(const sdk::Run& run, std::string_view namespace_name) {
  const Result<sdk::WholeRef> created =
      run.client().CreateText(kServiceAccount, namespace_name, DefaultAccountBody(namespace_name));
  if (created.ok()) {
    run.log().Info(2, "Created default service account", {{"namespace", namespace_name}});
    return Ok();
  }
  return IsSettled(created.error()) ? Ok() : Status(created.error());
}

}  // namespace

// Wakes on: a namespace that is there, an account that went. A new or changed account can only
// mean less work.
void Controller::OnChange(const sdk::Change& change) const {
  const bool deleted = change.type() == sdk::Change::Type::kDelete;
  if (change.watch() == kNamespaces.number) {
    if (!deleted) queue_.Add(change.name());
  } else if (deleted) {
    queue_.Add(change.ns());
  }
}

sdk::Outcome Controller::Reconcile(sdk::Run& run) const {
  const std::optional<sdk::ObjectRef> namespace_object = cache_.Get(kNamespaces, run.key());
  if (!namespace_object || !WantsDefaultAccount(namespace_object->Root())) {
    return sdk::Outcome::Done();
  }
  std::string account(run.key());
  account.append("/").append(kDefaultAccount);
  if (cache_.Get(kServiceAccounts, account)) return sdk::Outcome::Done();
  return sdk::Outcome::Of(CreateDefaultAccount(run, run.key()));
}

}  // namespace kcm::ns::serviceaccount
