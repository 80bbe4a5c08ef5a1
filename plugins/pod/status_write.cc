// SPDX-License-Identifier: Apache-2.0
// Two attempts at one status.
#include "plugins/pod/status_write.h"

#include "kcm/rules/error_class.h"

namespace kcm::pod {

Result<sdk::WholeRef> WriteStatus(const sdk::Client& client, const sdk::Resource& resource,
                                  const sdk::WholeRef& object,
                                  const std::function<void(nlohmann::json&)>& apply) {
  sdk::Edit edit(object);
  apply(edit.json());
  Result<sdk::WholeRef> answer = client.UpdateStatus(resource, edit);
  if (answer.ok() || rules::IsShuttingDown(answer.error())) return answer;
  const Result<sdk::WholeRef> live = client.Get(resource, object.Namespace(), object.Name());
  if (!live.ok()) return live.error();
  sdk::Edit again(*live);
  apply(again.json());
  return client.UpdateStatus(resource, again);
}

}  // namespace kcm::pod
