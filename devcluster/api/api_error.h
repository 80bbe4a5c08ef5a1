// SPDX-License-Identifier: Apache-2.0
// Builders of API errors: each becomes one Status body (spec/apiserver A1.3). Used by the server
// and by kinds.
//
//   return NotFound(gvr, "x");                     // 404 `deployments.apps "x" not found`
//   return Forbidden(gvr, "p", "no such account");  // 403 `pods "p" is forbidden: no such account`
//
// All functions are pure and thread-safe. Names and messages are plain text; escaping happens when
// the body is written.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster {

// "deployments.apps", "pods": how messages name a resource.
std::string QualifiedResource(const Gvr& gvr);
// "Deployment.apps", "Pod": how messages name a kind.
std::string QualifiedKind(std::string_view group, std::string_view kind);

// 400. No details.
ApiError BadRequest(std::string message);
// 401 `Unauthorized`.
ApiError Unauthorized();
// 403 `RESOURCE "NAME" is forbidden: WHY` (without the name when it is empty). details: name,
// group, kind (plural).
ApiError Forbidden(const Gvr& gvr, std::string_view name, std::string_view why);
// The same with one details.cause (NamespaceTerminating, ...).
ApiError ForbiddenWithCause(const Gvr& gvr, std::string_view name, std::string_view why,
                            const FieldError& cause);
// 404 `RESOURCE "NAME" not found`.
ApiError NotFound(const Gvr& gvr, std::string_view name);
// 404 `the server could not find the requested resource`.
ApiError NoSuchResource();
// 405.
ApiError MethodNotAllowed();
// 406 / 415 with the text given.
ApiError NotAcceptable(std::string message);
ApiError UnsupportedMediaType(std::string message);
// 409 `RESOURCE "NAME" already exists`.
ApiError AlreadyExists(const Gvr& gvr, std::string_view name);
// 409 `Operation cannot be fulfilled on RESOURCE "NAME": WHY`.
ApiError Conflict(const Gvr& gvr, std::string_view name, std::string_view why);
// The same with the usual text: `the object has been modified; please apply your changes to ...`.
ApiError StaleVersion(const Gvr& gvr, std::string_view name);
// 409 of preconditions: `Operation cannot be fulfilled on Kind.group "NAME": WHY`, details.kind is
// the Kind.
ApiError ConflictOfKind(std::string_view group, std::string_view kind, std::string_view name,
                        std::string_view why);
// 410 Expired with the text given.
ApiError Expired(std::string message);
// 422 `Kind.group "NAME" is invalid: FIELD: MESSAGE` or `[a, b]`, one cause per error. REQUIRES:
// !errors.empty().
ApiError Invalid(std::string_view group, std::string_view kind, std::string_view name,
                 const std::vector<FieldError>& errors);
// 422 `the server rejected our request due to an error in our request`, empty details.
ApiError Unprocessable();
// 429. retry_after_seconds < 0: absent. `cause` may have an empty reason: no causes.
ApiError TooManyRequests(std::string message, const FieldError& cause, int retry_after_seconds);
// 500 without reason and details, as untyped errors of the real server are.
ApiError Untyped(std::string message);
// 504 Timeout.
ApiError TooLargeResourceVersion(uint64_t wanted, uint64_t current);

// Field errors, with the texts of spec/apiserver C7. `value` of Invalid/NotSupported/Duplicate is
// shown as given: quote strings yourself (GoQuote).
FieldError Required(std::string field, std::string_view detail);
FieldError InvalidValue(std::string field, std::string_view shown_value, std::string_view detail);
FieldError NotSupported(std::string field, std::string_view shown_value,
                        const std::vector<std::string>& supported);
FieldError Duplicate(std::string field, std::string_view shown_value);
FieldError ForbiddenField(std::string field, std::string_view detail);
FieldError NotFoundField(std::string field, std::string_view shown_value);
FieldError TooLong(std::string field, int64_t max_bytes);
FieldError TooMany(std::string field, int64_t actual, int64_t max);
// "x" with Go's %q escapes.
std::string GoQuote(std::string_view text);

// The Status object of an error.
Json ToStatus(const ApiError& error);
// The same as text, members in the order the API server writes them; no trailing newline.
std::string ToStatusText(const ApiError& error);

}  // namespace kcm::devcluster
