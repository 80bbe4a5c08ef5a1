// SPDX-License-Identifier: Apache-2.0
// What an API error means to a controller (spec/namespace.md S8, spec/host.md 7.6).
#pragma once
#include "kcm/rules/result.h"

namespace kcm::rules {

inline bool IsNotFound(const Error& e) { return e.Is(Code::kNotFound); }
// Stale resourceVersion or failed precondition.
inline bool IsConflict(const Error& e) { return e.Is(Code::kConflict); }
inline bool IsAlreadyExists(const Error& e) { return e.Is(Code::kAlreadyExists); }
// The resource does not know this verb.
inline bool IsMethodNotSupported(const Error& e) { return e.Is(Code::kMethodNotAllowed); }
// A create was refused because its namespace is being deleted: no event, no retry of the create.
bool IsNamespaceTerminating(const Error& e);
// Ours, not the server's: the work ends without a word.
bool IsShuttingDown(const Error& e);
// 5xx, 429, no answer: the same request may succeed later.
bool IsTransient(const Error& e);

}  // namespace kcm::rules
