// SPDX-License-Identifier: Apache-2.0
// Deletes everything in a namespace and counts what is left (spec/namespace.md, "Delete all
// content", "Delete one resource"): pods first, the rest only when no pod remains.
//
//   const Result<ContentPass> pass = ContentDeletion(run, clock, missing, doomed).Run();
//
// Reads live, never from a cache: an object that a cache has not seen yet must go too (trap 7).
// For one thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "kcm/sdk/context.h"
#include "plugins/namespace/namespace/conditions.h"
#include "plugins/namespace/namespace/leftovers.h"
#include "plugins/namespace/namespace/resources.h"

namespace kcm::ns::namespaces {

// The namespace whose content goes.
struct Doomed {
  std::string name;
  rules::WallTime deleted;  // its deletionTimestamp
};

struct ContentPass {
  int64_t estimate = 0;       // seconds until the rest may be gone; 0: nothing to wait for
  std::vector<Error> errors;  // none: everything was asked to go
  Progress progress;
};

class ContentDeletion {
 public:
  // All are borrowed for the life of *this.
  ContentDeletion(const sdk::Run& run, sdk::Clock clock, const MissingVerbs& missing,
                  const Doomed& doomed)
      : run_(run), client_(run.client()), clock_(clock), missing_(missing), doomed_(doomed) {}

  // Failures of resources are in the pass. Error: the process or this instance is going down, and
  // nothing may be concluded.
  Result<ContentPass> Run();

 private:
  // What came of one resource. `left` is also filled when `status` is an error.
  struct ResourcePass {
    int64_t estimate = 0;
    Leftovers left;
    Status status = Ok();
  };
  enum class Support { kYes, kNo };

  std::vector<sdk::ServedResource> Discover(ContentPass& pass);
  bool Add(const sdk::ServedResource& resource, const ResourcePass& done, ContentPass& pass);
  ResourcePass DeleteResource(const sdk::ServedResource& resource);
  Result<int64_t> GraceEstimate(const sdk::ServedResource& resource) const;
  Result<Support> DeleteAtOnce(const sdk::ServedResource& resource) const;
  Status DeleteOneByOne(const sdk::ServedResource& resource) const;
  // Metadata only; nullopt: the resource can not be listed.
  Result<std::optional<sdk::WholeRef>> List(const sdk::ServedResource& resource) const;

  const sdk::Run& run_;
  const sdk::Client client_;
  const sdk::Clock clock_;
  const MissingVerbs& missing_;
  const Doomed& doomed_;
};

}  // namespace kcm::ns::namespaces
