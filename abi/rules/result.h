// SPDX-License-Identifier: Apache-2.0
// The one error type and Result<T> of host, SDK and devcluster.
//
//   Result<ObjectPtr> r = client.Get(...);
//   if (!r.ok()) return r.error();
//   Use(*r);
#pragma once
#include <kcm/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kcm {

// Codes are Kubernetes' reasons plus ours; the numbers are those of <kcm/status.h>.
enum class Code : int32_t {
  kOk = KCM_OK,
  kNotFound = KCM_ERR_NOT_FOUND,
  kAlreadyExists = KCM_ERR_ALREADY_EXISTS,
  kConflict = KCM_ERR_CONFLICT,
  kInvalid = KCM_ERR_INVALID,
  kForbidden = KCM_ERR_FORBIDDEN,
  kUnauthorized = KCM_ERR_UNAUTHORIZED,
  kTooManyRequests = KCM_ERR_TOO_MANY_REQUESTS,
  kExpired = KCM_ERR_EXPIRED,
  kTimeout = KCM_ERR_TIMEOUT,
  kServerTimeout = KCM_ERR_SERVER_TIMEOUT,
  kUnavailable = KCM_ERR_UNAVAILABLE,
  kBadRequest = KCM_ERR_BAD_REQUEST,
  kMethodNotAllowed = KCM_ERR_METHOD_NOT_ALLOWED,
  kNotAcceptable = KCM_ERR_NOT_ACCEPTABLE,
  kUnsupportedMediaType = KCM_ERR_UNSUPPORTED_MEDIA_TYPE,
  kTransport = KCM_ERR_TRANSPORT,  // no answer: refused, reset, TLS failure, unexpected end
  kStopped = KCM_ERR_STOPPED,
  kFenced = KCM_ERR_FENCED,
  kCancelled = KCM_ERR_CANCELLED,
  kUnsupported = KCM_ERR_UNSUPPORTED,
  kInternal = KCM_ERR_INTERNAL,
};

struct Error {
  Code code = Code::kInternal;
  std::string message;  // what was tried, on what, and the fix
  std::string
      reason;  // the API Status' reason as sent ("NotFound"), empty when there was no Status
  int32_t http_status = 0;      // 0 when there was no HTTP answer
  int64_t retry_after_ns = -1;  // numeric Retry-After, -1 when absent
  std::string cause;  // first details.causes[].reason ("NamespaceTerminating"), empty when none

  bool Is(Code c) const { return code == c; }
};

inline Error MakeError(Code code, std::string message) {
  Error e;
  e.code = code;
  e.message = std::move(message);
  return e;
}

struct Unit {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error)
      : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Code code() const { return ok() ? Code::kOk : std::get<1>(v_).code; }
  // REQUIRES: !ok()
  const Error& error() const { return std::get<1>(v_); }
  // REQUIRES: ok()
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }

 private:
  std::variant<T, Error> v_;
};

using Status = Result<Unit>;
inline Status Ok() { return Status(Unit{}); }

}  // namespace kcm
