// SPDX-License-Identifier: Apache-2.0
// Deletion of a namespace's content.
#include "plugins/namespace/namespace/content.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kcm/rules/error_class.h"

namespace kcm::ns::namespaces {
namespace {

constexpr sdk::DeleteOptions kInBackground{.propagation = sdk::Propagation::kBackground};

sdk::Resource Of(const sdk::ServedResource& r) { return {r.group, r.version, r.resource, r.kind}; }

// The resource does not exist or does not know the verb. For this call only: an aggregated server
// may answer so today and know better tomorrow (trap 3).
bool IsUnsupported(const Error& e) {
  return rules::IsNotFound(e) || rules::IsMethodNotSupported(e);
}

}  // namespace

Result<ContentPass> ContentDeletion::Run() {
  ContentPass pass;
  std::vector<sdk::ServedResource> resources = Discover(pass);
  if (!pass.errors.empty() && rules::IsShuttingDown(pass.errors.front())) {
    return pass.errors.front();
  }

  const auto pods = std::find_if(resources.begin(), resources.end(), IsPods);
  if (pods != resources.end()) {
    const ResourcePass done = DeleteResource(*pods);
    if (!Add(*pods, done, pass)) return done.status.error();
    if (done.left.count > 0) {
      // Pods may need the secrets, config maps and volumes around them until they have ended. The
      // two conditions on what remains say "nothing" meanwhile, as the reference has it
      // (kubernetes/kubernetes issue 138208, recording ns-pod-finalizer-gates).
      pass.progress.remaining.clear();
      pass.progress.finalizers.clear();
      return pass;
    }
    resources.erase(pods);
  }
  for (const sdk::ServedResource& resource : resources) {
    const ResourcePass done = DeleteResource(resource);
    if (!Add(resource, done, pass)) return done.status.error();
  }
  return pass;
}

// What the server has, as far as it could be found out: the rest of the content goes even when a
// group can not be read (trap 2).
std::vector<sdk::ServedResource> ContentDeletion::Discover(ContentPass& pass) {
  Result<sdk::ServedResources> served = run_.discovery().Preferred();
  if (!served.ok()) {
    pass.errors.push_back(served.error());
    pass.progress.discovery_failure = served.error().message;
    return {};
  }
  if (const std::optional<PartialDiscovery> partial = PartialFailure(*served)) {
    pass.errors.push_back(MakeError(Code::kUnavailable, partial->text));
    pass.progress.discovery_failure = partial->ConditionMessage();
  }
  std::vector<sdk::ServedResource> resources = DeletableResources(*served);
  if (const std::optional<std::string> failure = ParsingFailure(resources)) {
    pass.errors.push_back(MakeError(Code::kInvalid, *failure));
    pass.progress.parsing_failure = *failure;
    return {};
  }
  return resources;
}

// False: shutting down.
bool ContentDeletion::Add(const sdk::ServedResource& resource, const ResourcePass& done,
                          ContentPass& pass) {
  if (!done.status.ok()) {
    Error error = done.status.error();
    if (rules::IsShuttingDown(error)) return false;
    pass.progress.content_failures.push_back(error.message);
    if (IsPods(resource)) {
      error.message =
          "failed to delete pods for namespace: " + doomed_.name + ", err: " + error.message;
    }
    pass.errors.push_back(std::move(error));
  }
  pass.estimate = std::max(pass.estimate, done.estimate);
  if (done.left.count > 0) pass.progress.remaining[ConditionName(resource)] = done.left.count;
  for (const auto& [finalizer, count] : done.left.finalizers) {
    pass.progress.finalizers[finalizer] += count;
  }
  return true;
}

ContentDeletion::ResourcePass ContentDeletion::DeleteResource(const sdk::ServedResource& resource) {
  ResourcePass out;
  const Result<int64_t> grace = GraceEstimate(resource);
  if (!grace.ok()) {
    out.status = grace.error();
    return out;
  }
  out.estimate = *grace;

  const Result<Support> at_once = DeleteAtOnce(resource);
  if (!at_once.ok()) {
    out.status = at_once.error();
    return out;
  }
  if (*at_once == Support::kNo) {
    out.status = DeleteOneByOne(resource);
    if (!out.status.ok()) return out;
  }

  const Result<std::optional<sdk::WholeRef>> rest = List(resource);
  if (!rest.ok()) {
    out.status = rest.error();
    return out;
  }
  if (!*rest) return out;
  out.left = CountLeftovers((*rest)->Root());
  const Wait wait = WaitFor(out.left, out.estimate);
  out.estimate = wait.estimate;
  if (wait.unexpected) {
    out.status =
        MakeError(Code::kConflict, "unexpected items still remain in namespace: " + doomed_.name +
                                       " for gvr: " + ErrorName(resource));
  }
  return out;
}

// Only pods take a time that is known. Whole objects: metadata does not tell phase and grace.
Result<int64_t> ContentDeletion::GraceEstimate(const sdk::ServedResource& resource) const {
  if (!IsPods(resource)) return int64_t{0};
  const Result<sdk::WholeRef> pods = client_.List(Of(resource), doomed_.name);
  if (!pods.ok()) return pods.error();
  return StillToWait(LongestGracePeriod(pods->Root()), doomed_.deleted, clock_.Now());
}

Result<ContentDeletion::Support> ContentDeletion::DeleteAtOnce(
    const sdk::ServedResource& resource) const {
  if (missing_.DeleteCollection(resource)) return Support::kNo;
  const Status deleted = client_.DeleteCollection(Of(resource), doomed_.name, kInBackground);
  if (deleted.ok()) return Support::kYes;
  if (IsUnsupported(deleted.error())) return Support::kNo;
  return deleted.error();
}

Status ContentDeletion::DeleteOneByOne(const sdk::ServedResource& resource) const {
  const Result<std::optional<sdk::WholeRef>> list = List(resource);
  if (!list.ok()) return list.error();
  if (!*list) return Ok();
  const sdk::WholeRef& items = **list;
  for (const rules::Node item : items.Get("items").Items()) {
    const Status deleted = client_.Delete(Of(resource), doomed_.name,
                                          item.Path("metadata.name").String(), kInBackground);
    if (!deleted.ok() && !IsUnsupported(deleted.error())) return deleted;
  }
  return Ok();
}

Result<std::optional<sdk::WholeRef>> ContentDeletion::List(
    const sdk::ServedResource& resource) const {
  if (missing_.List(resource)) return std::optional<sdk::WholeRef>();
  Result<sdk::WholeRef> list = client_.List(Of(resource), doomed_.name, {.metadata_only = true});
  if (list.ok()) return std::optional<sdk::WholeRef>(*std::move(list));
  if (IsUnsupported(list.error())) return std::optional<sdk::WholeRef>();
  return list.error();
}

}  // namespace kcm::ns::namespaces
