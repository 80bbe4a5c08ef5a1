// SPDX-License-Identifier: Apache-2.0
// Failure: how a step deep inside a request says which Status the client gets. Thrown only inside
// this folder; the dispatcher catches it for every request.
#pragma once
#include <optional>
#include <utility>

#include "devcluster/api/api_error.h"

namespace kcm::devcluster {

struct Failure {
  ApiError error;
};

[[noreturn]] inline void Fail(ApiError error) { throw Failure{std::move(error)}; }
inline void FailIf(std::optional<ApiError> error) {
  if (error) throw Failure{std::move(*error)};
}

}  // namespace kcm::devcluster
