// SPDX-License-Identifier: Apache-2.0
// PodBodies: the pods of one Job as they are posted (spec/pod-batch.md 1.5.6). Pure.
//
//   const PodBodies bodies(job, spec);
//   bodies.Plain()                            // NonIndexed
//   bodies.OfIndex(3, FailuresAfter(...))     // Indexed
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "plugins/pod/job/indexes.h"
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {

class PodBodies {
 public:
  PodBodies(rules::Node job, const JobSpec& spec);
  ~PodBodies();

  std::string Plain() const;
  // `failures`: given when the limit is per index.
  std::string OfIndex(int64_t index, const std::optional<IndexFailures>& failures) const;

 private:
  std::string name_;
  std::unique_ptr<nlohmann::json> base_;
};

// `<job>-<index>-`, the job's part cut so that a pod name of 63 characters comes out.
std::string IndexedNamePrefix(std::string_view job_name, int64_t index);

}  // namespace kcm::pod::job
