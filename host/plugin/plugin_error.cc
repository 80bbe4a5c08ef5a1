// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/plugin_error.h"

namespace kcm::host::plugin {
namespace {

// As <kcm/status.h> calls it.
std::string NameOfCode(int32_t code) {
  switch (code) {
#define KCM_NAME(name) \
  case name:           \
    return #name;
    KCM_NAME(KCM_ERR_NOT_FOUND)
    KCM_NAME(KCM_ERR_ALREADY_EXISTS)
    KCM_NAME(KCM_ERR_CONFLICT)
    KCM_NAME(KCM_ERR_INVALID)
    KCM_NAME(KCM_ERR_FORBIDDEN)
    KCM_NAME(KCM_ERR_UNAUTHORIZED)
    KCM_NAME(KCM_ERR_TOO_MANY_REQUESTS)
    KCM_NAME(KCM_ERR_EXPIRED)
    KCM_NAME(KCM_ERR_TIMEOUT)
    KCM_NAME(KCM_ERR_SERVER_TIMEOUT)
    KCM_NAME(KCM_ERR_UNAVAILABLE)
    KCM_NAME(KCM_ERR_BAD_REQUEST)
    KCM_NAME(KCM_ERR_METHOD_NOT_ALLOWED)
    KCM_NAME(KCM_ERR_NOT_ACCEPTABLE)
    KCM_NAME(KCM_ERR_UNSUPPORTED_MEDIA_TYPE)
    KCM_NAME(KCM_ERR_TRANSPORT)
    KCM_NAME(KCM_ERR_STOPPED)
    KCM_NAME(KCM_ERR_FENCED)
    KCM_NAME(KCM_ERR_CANCELLED)
    KCM_NAME(KCM_ERR_UNSUPPORTED)
    KCM_NAME(KCM_ERR_INTERNAL)
#undef KCM_NAME
    default:
      return "code " + std::to_string(code);
  }
}

}  // namespace

std::string PluginError::Reason(int32_t code, std::string_view failed_request) const {
  std::string out = text();
  if (!out.empty()) return out;
  out = "the plugin gives no reason";
  if (code != KCM_OK) out += " (" + NameOfCode(code) + ")";
  if (!failed_request.empty()) {
    out += "; its last request that failed: ";
    out += failed_request;
  }
  return out;
}

}  // namespace kcm::host::plugin
