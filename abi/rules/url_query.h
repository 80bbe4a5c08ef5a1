// SPDX-License-Identifier: Apache-2.0
// The query of a request's URL.
//
//   std::string query;
//   AddParameter(&query, "labelSelector", "app in (a,b)");  //
//   "labelSelector=app%20in%20%28a%2Cb%29"
#pragma once
#include <string>
#include <string_view>

namespace kcm::rules {

// Appends `name=value`, joined by `&`. `name` stands as it is, `value` is escaped. An empty value
// adds nothing.
void AddParameter(std::string* query, std::string_view name, std::string_view value);

}  // namespace kcm::rules
