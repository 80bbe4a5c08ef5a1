// SPDX-License-Identifier: Apache-2.0
// Who asks, and may they (spec/apiserver J).
#pragma once
#include <string>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

// The user of a request. Throws 401 for a wrong token. `plain`: no TLS, who shows no token is
// admin.
UserInfo Authenticate(const State& state, const HttpRequest& http, const PeerCertificate& peer,
                      bool plain);
// Makes the request's user the one it wants to act as. Throws 403 when it may not. `verb` as RBAC
// names it.
void Impersonate(const State& state, Request* request, const std::string& verb);
// The user of a token and whom the token is for; nullopt when it is not valid now, or no longer:
// its account, or what it is bound to, has gone.
std::optional<UserInfo> UserOfToken(const State& state, std::string_view token, Json* audiences);
// Whether `user` may do it. Members of system:masters may do everything.
bool Allowed(const State& state, const UserInfo& user, std::string_view verb, const Gvr& gvr,
             std::string_view subresource, std::string_view ns, std::string_view name,
             std::string* reason);
bool AllowedPath(const State& state, const UserInfo& user, std::string_view verb,
                 std::string_view path, std::string* reason);
// Throws 403 for the request's user. `verb` as RBAC names it.
void Authorize(const State& state, const Request& request, const std::string& verb);

}  // namespace kcm::devcluster
