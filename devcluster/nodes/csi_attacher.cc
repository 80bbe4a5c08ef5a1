// SPDX-License-Identifier: Apache-2.0
// Attacher of the simulated CSI driver.
#include "devcluster/nodes/csi_driver_impl.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::nodes {
namespace {

constexpr char kAttacherFinalizer[] = "external-attacher/csi-kcm-sim";
constexpr char kAttachments[] = "/apis/storage.k8s.io/v1/volumeattachments";

}  // namespace

Outcome CsiDriver::Impl::DoAttachment(WorkPool::Worker& worker, const std::string& name) {
  const std::optional<JsonObject> attachment = Find(attachments, name);
  if (!attachment) return {};
  if (JsonNode(*attachment->body).Path("spec.attacher").String() != kCsiDriver) return {};
  return attachment->deleting ? Detach(worker, *attachment) : Attach(worker, *attachment);
}

Outcome CsiDriver::Impl::Attach(WorkPool::Worker& worker, const JsonObject& attachment) {
  const Node a = JsonNode(*attachment.body);
  if (a.Path("status.attached").Bool()) return {};
  const std::string path = std::string(kAttachments) + "/" + attachment.name;
  const std::string what = "attachment " + attachment.name;
  json finalizers = FinalizersOf(attachment);
  if (!Has(finalizers, kAttacherFinalizer)) {
    finalizers.push_back(kAttacherFinalizer);
    const Answer answer =
        worker.Call("PATCH", path, FinalizersBody(attachment, std::move(finalizers)), kMergePatch);
    return After(what, answer);  // goes on when the watch shows it
  }
  const std::optional<JsonObject> volume =
      Find(volumes, TextOf(a.Path("spec.source.persistentVolumeName")));
  std::string after, fails;
  if (volume) {
    after = TextOf(AnnotationOf(*volume, "sim/attach-after"));
    fails = TextOf(AnnotationOf(*volume, "sim/attach-fail"));
  }
  if (const auto wait = WaitFor("attach " + attachment.uid, after)) return {{}, *wait};
  if (!fails.empty()) {
    const json error = {
        {"status",
         {{"attachError", {{"message", fails}, {"time", rules::FormatTime(clock.Now())}}}}}};
    worker.Call("PATCH", path + "/status", Dump(error), kMergePatch);
    return {what + ": " + fails};
  }
  const json body = {{"status", {{"attached", true}, {"attachError", nullptr}}}};
  return After(what, worker.Call("PATCH", path + "/status", Dump(body), kMergePatch));
}

Outcome CsiDriver::Impl::Detach(WorkPool::Worker& worker, const JsonObject& attachment) {
  const json finalizers = FinalizersOf(attachment);
  if (!Has(finalizers, kAttacherFinalizer)) return {};
  const std::string path = std::string(kAttachments) + "/" + attachment.name;
  const std::string what = "attachment " + attachment.name;
  if (JsonNode(*attachment.body).Path("status.attached").Bool()) {
    const Answer a =
        worker.Call("PATCH", path + "/status", R"({"status":{"attached":false}})", kMergePatch);
    return After(what, a);  // goes on when the watch shows it
  }
  return After(what,
               worker.Call("PATCH", path,
                           FinalizersBody(attachment, Without(finalizers, kAttacherFinalizer)),
                           kMergePatch));
}

}  // namespace kcm::devcluster::nodes
