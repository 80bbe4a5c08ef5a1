// SPDX-License-Identifier: Apache-2.0
// Decisions on the ServiceAccount `default`.
#include "plugins/namespace/serviceaccount/default_account.h"

#include "kcm/rules/error_class.h"
#include "kcm/rules/json_text.h"

namespace kcm::ns::serviceaccount {

bool WantsDefaultAccount(rules::Node namespace_object) {
  return namespace_object.Path("status.phase").String() == "Active";
}

std::string DefaultAccountBody(std::string_view namespace_name) {
  std::string body = R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":)";
  rules::AppendJsonString(body, kDefaultAccount);
  body += R"(,"namespace":)";
  rules::AppendJsonString(body, namespace_name);
  return body + "}}";
}

bool IsSettled(const Error& refused) {
  return rules::IsAlreadyExists(refused) || rules::IsNamespaceTerminating(refused);
}

}  // namespace kcm::ns::serviceaccount
