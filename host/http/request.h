// SPDX-License-Identifier: Apache-2.0
// Request and Response: what a path's handler gets and gives. No library type in here.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/http/authentication.h"
#include "host/http/user.h"

namespace kcm::host::http {

struct Request {
  std::string method;
  std::string path;                                        // decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Headers headers;
  std::string body;  // at most 1 MiB
  User user;

  // First header of that name, case folded; "" when absent.
  std::string Header(std::string_view name) const;
  bool HasQuery(std::string_view name) const;
  std::vector<std::string> QueryValues(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  Headers headers;  // further ones
};

using Handler = std::function<Response(const Request&)>;

// Splits `target` ("/a%20b?x=1&y") into path and query; also takes the absolute form. False when it
// is no path.
bool ParseTarget(std::string_view target, std::string* path,
                 std::vector<std::pair<std::string, std::string>>* query);

// Plain text with `X-Content-Type-Options: nosniff`, a newline at the end, as Go's http.Error.
Response TextError(int status, const std::string& text);
// A JSON Status of kind Failure. `details` adds an empty details object, as the reference does for
// 403.
Response StatusError(int status, const std::string& reason, const std::string& message,
                     bool details);
Response JsonResponse(int status, std::string json);

}  // namespace kcm::host::http
