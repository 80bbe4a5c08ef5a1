// SPDX-License-Identifier: Apache-2.0
// cronjob-controller: starts Jobs at scheduled times and keeps account of them
// (spec/pod-batch.md section 2).
#pragma once
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/cronjob/zones.h"
#include "plugins/pod/ownership/owner_lookup.h"

namespace kcm::pod::cronjob {

class Controller {
 public:
  explicit Controller(sdk::Context& context);
  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);

 private:
  void OnCronJobChange(const sdk::Change& change);
  void OnJobChange(const sdk::Change& change) const;

  sdk::Context& context_;
  const OwnerLookup cron_jobs_;
  sdk::Metric creation_skew_;
  Zones zones_;
};

}  // namespace kcm::pod::cronjob
