// SPDX-License-Identifier: Apache-2.0
// Whether a Job is over.
#include "kcm/rules/job.h"

#include <gtest/gtest.h>

#include <string>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

TEST(FinishedCondition, IsTheFirstTrueOneOfTwoTypes) {
  const struct {
    const char* conditions;
    const char* want;  // its type; "": not finished
  } rows[] = {
      {"[]", ""},
      {R"([{"type":"Complete","status":"True"}])", "Complete"},
      {R"([{"type":"Complete","status":"False"}])", ""},
      {R"([{"type":"SuccessCriteriaMet","status":"True"}])", ""},
      {R"([{"type":"Complete","status":"Unknown"},{"type":"Failed","status":"True"}])", "Failed"},
      {R"([{"type":"Failed","status":"True"},{"type":"Complete","status":"True"}])", "Failed"},
  };
  for (const auto& row : rows) {
    const Parsed job(std::string(R"({"status":{"conditions":)") + row.conditions + "}}");
    EXPECT_EQ(FinishedCondition(job).Get("type").String(), row.want) << row.conditions;
    EXPECT_EQ(IsJobFinished(job), *row.want != '\0') << row.conditions;
  }
}

}  // namespace
}  // namespace kcm::rules
