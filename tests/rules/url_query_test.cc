// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/url_query.h"

#include <gtest/gtest.h>

namespace kcm::rules {
namespace {

TEST(AddParameter, EscapesValuesAndLeavesOutEmptyOnes) {
  std::string query;
  AddParameter(&query, "labelSelector", "");
  EXPECT_EQ(query, "");
  AddParameter(&query, "labelSelector", "app in (a,b),x=y_1.2~-");
  EXPECT_EQ(query, "labelSelector=app%20in%20%28a%2Cb%29%2Cx%3Dy_1.2~-");
  AddParameter(&query, "metricLabelSelector", "q=\xc3\xa4&b");
  EXPECT_EQ(query,
            "labelSelector=app%20in%20%28a%2Cb%29%2Cx%3Dy_1.2~-&metricLabelSelector="
            "q%3D%C3%A4%26b");
}

}  // namespace
}  // namespace kcm::rules
