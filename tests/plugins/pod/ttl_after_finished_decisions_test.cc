// SPDX-License-Identifier: Apache-2.0
// When a finished Job expires.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/ttl_after_finished/expiry.h"

namespace kcm::pod::ttl_after_finished {

void PrintTo(const Expiry& e, std::ostream* out) {
  *out << "state " << static_cast<int>(e.state) << ", " << e.time.count() << " ns";
}

namespace {

using nlohmann::json;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

const rules::WallTime kNow = *rules::ParseTime("2024-05-01T12:00:00Z");

json Condition(const char* type, const char* status, const char* at) {
  return {{"type", type}, {"status", status}, {"lastTransitionTime", at}};
}
json Job(const json& ttl, const std::vector<json>& conditions) {
  return {{"spec", {{"ttlSecondsAfterFinished", ttl}}}, {"status", {{"conditions", conditions}}}};
}

TEST(TtlExpiry, DependsOnFinishTimeAndTtl) {
  json deleting = Job(0, {Condition("Complete", "True", "2024-05-01T11:00:00Z")});
  deleting["metadata"]["deletionTimestamp"] = "2024-05-01T11:30:00Z";
  using State = Expiry::State;
  const struct {
    const char* name;
    json job;
    Expiry want;
  } rows[] = {
      {"ttl 0 has passed at once",
       Job(0, {Condition("Complete", "True", "2024-05-01T12:00:00Z")}),
       {State::kPassed, 0ns}},
      {"passed a while ago",
       Job(30, {Condition("Failed", "True", "2024-05-01T11:59:00Z")}),
       {State::kPassed, 30s}},
      {"one second left",
       Job(30, {Condition("Failed", "True", "2024-05-01T11:59:31Z")}),
       {State::kWaiting, 1s}},
      {"finished in the future",
       Job(10, {Condition("Complete", "True", "2024-05-01T12:01:00Z")}),
       {State::kWaiting, 70s}},
      {"the first of two in list order",
       Job(0, {Condition("Suspended", "True", "2024-05-01T09:00:00Z"),
               Condition("Failed", "True", "2024-05-01T11:59:00Z"),
               Condition("Complete", "True", "2024-05-01T11:00:00Z")}),
       {State::kPassed, 60s}},
      {"Failed=False is not finished",
       Job(0, {Condition("Failed", "False", "2024-05-01T09:00:00Z")}),
       {}},
      {"no condition", Job(0, {}), {}},
      {"no ttl", Job(nullptr, {Condition("Complete", "True", "2024-05-01T09:00:00Z")}), {}},
      {"being deleted", deleting, {}},
      {"no finish time", Job(0, {Condition("Complete", "True", "")}), {State::kUnknown, 0ns}},
      {"finished at the end of time",
       Job(2147483647, {Condition("Complete", "True", "9999-12-31T00:00:00Z")}),
       {State::kWaiting, rules::Elapsed(kNow, rules::WallTime::max())}},
      {"finished before all time",
       Job(0, {Condition("Complete", "True", "0001-01-02T00:00:00Z")}),
       {State::kPassed, rules::Elapsed(rules::WallTime::min(), kNow)}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ExpiryOf(rules::JsonNode(row.job), kNow), row.want);
  }
}

}  // namespace
}  // namespace kcm::pod::ttl_after_finished
