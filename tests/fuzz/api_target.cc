// SPDX-License-Identifier: Apache-2.0
// Paths, queries and continue tokens of devcluster.
#include "devcluster/server/failure.h"
#include "devcluster/server/list_options.h"
#include "devcluster/server/url.h"
#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  using devcluster::Failure;
  const auto parts = Parts(input, 3);
  (void)devcluster::ParsePath(parts[0]);
  const devcluster::Query query(parts[1]);
  for (const char* name : {"limit", "timeoutSeconds"}) {
    try {
      (void)query.Integer(name);
    } catch (const Failure& f) {
      Check(f.error.code == 400, "a number that is none is a bad request");
    }
  }
  try {
    const devcluster::ContinueToken token = devcluster::DecodeContinue(std::string(parts[2]));
    const auto again = devcluster::DecodeContinue(devcluster::Encode(token));
    Check(again.revision == token.revision && again.start == token.start,
          "a continue token survives being written");
  } catch (const Failure& f) {
    Check(f.error.code == 400, "a bad token is a bad request");
  }
}

std::vector<std::string> Seeds() {
  const std::string token = devcluster::Encode({17, "default/p1"});
  return {Join({"/api/v1/namespaces/default/pods/p%31/status", "limit=5&watch=1&a=%zz", token}),
          Join({"/apis/apps/v1/watch/namespaces/d/deployments", "timeoutSeconds=-1",
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"}),
          Join({"/apis//x/", "=&&=a", "AAAA"})};
}

}  // namespace kcm::fuzz
