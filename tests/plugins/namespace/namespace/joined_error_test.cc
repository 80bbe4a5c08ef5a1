// SPDX-License-Identifier: Apache-2.0
// Joining errors.
#include "plugins/namespace/namespace/joined_error.h"

#include <gtest/gtest.h>

namespace kcm::ns::namespaces {
namespace {

TEST(JoinedError, PrintsEachTextOnce) {
  const struct {
    std::vector<const char*> texts;
    const char* want;
  } rows[] = {{{"a"}, "a"}, {{"a", "a"}, "a"}, {{"b", "a"}, "[b, a]"}, {{"b", "a", "b"}, "[b, a]"}};
  for (const auto& row : rows) {
    std::vector<Error> errors;
    for (const char* text : row.texts) errors.push_back(MakeError(Code::kForbidden, text));
    const Error joined = JoinedError(errors);
    EXPECT_EQ(joined.message, row.want);
    EXPECT_EQ(joined.code, Code::kForbidden);
  }
}

}  // namespace
}  // namespace kcm::ns::namespaces
