// SPDX-License-Identifier: Apache-2.0
// User: who sends a request to our endpoints (spec/host.md 9.3).
#pragma once
#include <map>
#include <string>
#include <vector>

namespace kcm::host::http {

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool InGroup(const std::string& group) const {
    for (const std::string& g : groups) {
      if (g == group) return true;
    }
    return false;
  }
};

inline constexpr const char* kAnonymous = "system:anonymous";
inline constexpr const char* kUnauthenticated = "system:unauthenticated";
inline constexpr const char* kAuthenticated = "system:authenticated";
inline constexpr const char* kMasters = "system:masters";

}  // namespace kcm::host::http
