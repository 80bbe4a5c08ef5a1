// SPDX-License-Identifier: Apache-2.0
// ChosenRevisions: which revision was chosen last for a set, and for which template
// (spec/pod-workloads.md 5.1.3).
//
// A server that learned defaults serves the same template with other bytes than its revision has.
// As long as the set's generation was observed its status tells the revision; when the generation
// changes and the template does not (a scale), this does. Lost with a restart: then the status
// tells again, or the known defaults do.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace kcm::pod::statefulset {

// Thread-safe.
class ChosenRevisions {
 public:
  // `data`: the revision data of the set's template.
  void Remember(std::string_view uid, std::string_view revision, std::string_view data);
  // The name of the revision chosen for these data; empty when the last choice was for others.
  std::string For(std::string_view uid, std::string_view data) const;
  // The set is gone.
  void Forget(std::string_view uid);

 private:
  struct Choice {
    std::string revision, data;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Choice, std::less<>> choices_;  // by uid of the set; guarded by mutex_
};

}  // namespace kcm::pod::statefulset
