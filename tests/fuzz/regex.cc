// SPDX-License-Identifier: Apache-2.0
// A pattern and a text for it.
#include "devcluster/kinds/regex.h"

#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  const auto parts = Parts(input, 2);
  const auto regex = devcluster::kinds::Regex::Compile(parts[0]);
  if (!regex.ok()) {
    Check(!regex.error().message.empty(), "an error says why");
    return;
  }
  const std::string_view text = parts[1].substr(0, 200);
  for (size_t from = 0; from <= text.size();) {
    const auto found = regex->Find(text, from);
    if (!found) break;
    Check(from <= found->first && found->first <= found->second && found->second <= text.size(),
          "a match lies in the text");
    from = found->second + 1;
  }
}

std::vector<std::string> Seeds() {
  return {Join({"^[a-z]+-(dev|prod)$", "web-prod"}),
          Join({R"((?i)a{2,5}?|\bx*\B[[:alpha:]\d^]|.)", "AAaa é1 x"}),
          Join({R"((((a*)*)*)*b)", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa"}),
          Join({R"(\A[^\x00-\x1f]{0,63}\z)", "abc"})};
}

}  // namespace kcm::fuzz
