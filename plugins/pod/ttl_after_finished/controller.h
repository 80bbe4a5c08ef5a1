// SPDX-License-Identifier: Apache-2.0
// ttl-after-finished-controller: deletes finished Jobs after their TTL (spec/pod-batch.md
// section 3).
#pragma once
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/ttl_after_finished/expiry.h"

namespace kcm::pod::ttl_after_finished {

class Controller {
 public:
  explicit Controller(sdk::Context& context);
  void OnChange(const sdk::Change& change) const;
  sdk::Outcome Reconcile(sdk::Run& run) const;

 private:
  sdk::Outcome DeleteIfStillExpired(const sdk::Run& run) const;

  sdk::Context& context_;
  sdk::Metric deletion_duration_;
};

}  // namespace kcm::pod::ttl_after_finished
