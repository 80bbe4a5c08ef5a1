// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and times as users write them into objects and flags.
#include "fuzz/try.h"
#include "kcm/rules/decimal_int64.h"
#include "kcm/rules/go_duration.h"
#include "kcm/rules/go_quote.h"
#include "kcm/rules/name_validation.h"
#include "kcm/rules/quantity.h"
#include "kcm/rules/resource_version.h"
#include "kcm/rules/time.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  if (const auto q = rules::Quantity::Parse(input); q.ok()) {
    const auto again = rules::Quantity::Parse(q->Canonical());
    Check(again.ok() && *again == *q, "the canonical text of a quantity is the same quantity");
    Check(again->Canonical() == q->Canonical(), "canonical means one text");
    (void)(*q + *again).Canonical();
    (void)q->Value();
    (void)q->MilliValue();
  }
  if (const auto d = rules::ParseDuration(input); d.ok()) {
    const auto again = rules::ParseDuration(rules::FormatDuration(*d));
    Check(again.ok() && *again == *d, "the text of a duration is the same duration");
    (void)rules::ShortAge(*d);
  }
  if (const auto t = rules::ParseTime(input)) {
    const auto again = rules::ParseTime(rules::FormatNanoTime(*t));
    Check(again.has_value() && *again == *t, "the text of a time is the same time");
  }
  (void)rules::ParseInt64(input);
  (void)rules::JoinProblems(rules::ValidateQualifiedName(input));
  (void)rules::JoinProblems(rules::ValidateDns1123Subdomain(input));
}

std::vector<std::string> Seeds() {
  return {"1.5Gi",
          "100m",
          "12e6",
          "-0.000001n",
          "9223372036854775807",
          "1h2m3.5s",
          "-1.5h",
          "10µs",
          "2024-05-01T10:00:00Z",
          "2024-02-29T23:59:60.123456789+14:00",
          "example.com/name"};
}

}  // namespace kcm::fuzz
