// SPDX-License-Identifier: Apache-2.0
// Choosing the oldest finished Jobs.
#include "plugins/pod/cronjob/history.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "kcm/rules/job.h"
#include "kcm/rules/time.h"

namespace kcm::pod::cronjob {
namespace {

using rules::Node;

struct Finished {
  // One that never started comes last.
  bool without_start;
  rules::WallTime started;
  std::string_view name;
  size_t place;
  auto Order() const { return std::tie(without_start, started, name, place); }
};

void AddSurplus(std::vector<Finished> finished, Node limit, std::vector<size_t>& out) {
  if (!limit.IsNumber()) return;
  const int64_t surplus = static_cast<int64_t>(finished.size()) - std::max<int64_t>(0, limit.Int());
  std::sort(finished.begin(), finished.end(),
            [](const Finished& x, const Finished& y) { return x.Order() < y.Order(); });
  for (int64_t i = 0; i < surplus; ++i) out.push_back(finished[static_cast<size_t>(i)].place);
}

}  // namespace

std::vector<size_t> BeyondHistory(Node cron_job, const std::vector<Node>& jobs) {
  std::vector<Finished> succeeded, failed;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Node condition = rules::FinishedCondition(jobs[i]);
    if (!condition.Has()) continue;
    const auto started = rules::TimeOf(jobs[i].Path("status.startTime"));
    (condition.Get("type").String() == "Complete" ? succeeded : failed)
        .push_back({.without_start = !started,
                    .started = started.value_or(rules::WallTime()),
                    .name = jobs[i].Path("metadata.name").String(),
                    .place = i});
  }
  std::vector<size_t> out;
  AddSurplus(std::move(succeeded), cron_job.Path("spec.successfulJobsHistoryLimit"), out);
  AddSurplus(std::move(failed), cron_job.Path("spec.failedJobsHistoryLimit"), out);
  return out;
}

}  // namespace kcm::pod::cronjob
