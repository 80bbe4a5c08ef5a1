// SPDX-License-Identifier: Apache-2.0
// Classes of errors.
#include "kcm/rules/error_class.h"

namespace kcm::rules {

bool IsNamespaceTerminating(const Error& e) {
  return e.Is(Code::kForbidden) && e.cause == "NamespaceTerminating";
}

bool IsShuttingDown(const Error& e) {
  return e.Is(Code::kStopped) || e.Is(Code::kFenced) || e.Is(Code::kCancelled);
}

bool IsTransient(const Error& e) {
  switch (e.code) {
    case Code::kTooManyRequests:
    case Code::kTimeout:
    case Code::kServerTimeout:
    case Code::kUnavailable:
    case Code::kTransport:
      return true;
    default:
      return e.http_status >= 500;
  }
}

}  // namespace kcm::rules
