// SPDX-License-Identifier: Apache-2.0
// The steps of spec/pod-batch.md 4.4, in their order.
#include "plugins/pod/hpa/reconciler.h"

#include <algorithm>
#include <utility>

#include "kcm/rules/error_class.h"
#include "kcm/rules/go_quote.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/label_selector.h"
#include "plugins/pod/conflict_retry.h"
#include "plugins/pod/hpa/declaration.h"
#include "plugins/pod/hpa/scale_to_zero.h"
#include "plugins/pod/hpa/status.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::hpa {

using nlohmann::json;
using rules::Node;
using sdk::EventType;

namespace {

constexpr std::string_view kAboveMax = "Current number of replicas above Spec.MaxReplicas";
constexpr std::string_view kBelowMin = "Current number of replicas below Spec.MinReplicas";

// The group of `group/version` or `version`.
Result<std::string> GroupOfVersion(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return std::string();
  if (api_version.find('/', slash + 1) == std::string_view::npos)
    return std::string(api_version.substr(0, slash));
  return MakeError(Code::kInvalid, "unexpected GroupVersion string: " + std::string(api_version));
}

// `[shop/a shop/b]`
std::string KeysText(std::string_view ns, const Selectors::Names& names) {
  std::string out = "[";
  for (const std::string& name : names) {
    if (out.size() > 1) out += ' ';
    out.append(ns).append("/").append(name);
  }
  return out + "]";
}

}  // namespace

// Pods that the Scale's selector finds, in whatever phase.
struct Reconciler::MatchingPods {
  sdk::ObjectList<sdk::ObjectRef> refs;
  std::vector<Node> roots;  // borrow from refs
  std::string selector;
};

Reconciler::Reconciler(Shared& shared, const sdk::Run& run, sdk::WholeRef autoscaler)
    : shared_(shared),
      run_(run),
      client_(run.client()),
      now_(shared.context.clock().Now()),
      object_(std::move(autoscaler)),
      spec_(object_.Root().Get("spec")),
      bounds_{.min = spec_.Get("minReplicas").Int(1), .max = spec_.Get("maxReplicas").Int()},
      history_(shared.histories.Of(run.key())),
      edit_(object_),
      old_status_(StatusJson()) {
  const Node behavior = spec_.Get("behavior");
  if (behavior.Has()) behavior_ = BehaviorOf(behavior, shared.settings.downscale_stabilization);
}

Status Reconciler::Run() {
  const sdk::Clock clock = shared_.context.clock();
  const sdk::Duration start = clock.Monotonic();
  Status done = Sync();
  if (!done.ok() && rules::IsShuttingDown(done.error())) return done;
  const std::string_view error = done.ok() ? kNoError : by_spec_ ? kSpecError : kInternalError;
  shared_.instruments.Reconciled(action_, error, clock.Monotonic() - start);
  return done;
}

Status Reconciler::Sync() {
  if (const Status found = FindScale(); !found.ok()) {
    if (rules::IsShuttingDown(found.error())) return found;
    const std::string& why = found.error().message;
    Warn("FailedGetScale", why);
    Condition(kAbleToScale, false, "FailedGetScale",
              "the HPA controller was unable to get the target's current scale: " + why);
    return GiveUp(found.error());
  }
  Condition(kAbleToScale, true, kSucceededGetScale);
  history_.Begin(current_, now_);

  Result<Decision> decision = Decide();
  if (!decision.ok()) return decision.error();
  if (decision->replicas != current_) {
    if (const Status scaled = Rescale(*decision); !scaled.ok()) return scaled;
  }
  shared_.instruments.Desired(object_.Namespace(), object_.Name(), decision->replicas);
  SetCounts(StatusJson(), current_, decision->replicas, std::move(decision->metrics));
  if (const Status written = WriteStatus(); !written.ok()) return written;
  return decision->failed ? Status(*decision->failed) : Ok();
}

// ---- the target ----

Status Reconciler::FindScale() {
  Result<sdk::ServedResource> mapped = MapTarget();
  if (!mapped.ok()) return mapped.error();
  target_ = *std::move(mapped);
  Result<sdk::WholeRef> scale =
      client_.GetScale(*target_, object_.Namespace(), spec_.Path("scaleTargetRef.name").String());
  if (!scale.ok()) return scale.error();
  scale_ = *std::move(scale);
  current_ = scale_->Root().Path("spec.replicas").Int();
  return Ok();
}

// The version is of no account: any that is served will do.
Result<sdk::ServedResource> Reconciler::MapTarget() {
  const Node reference = spec_.Get("scaleTargetRef");
  const Result<std::string> group = GroupOfVersion(reference.Get("apiVersion").String());
  if (!group.ok()) {
    by_spec_ = true;
    return group.error();
  }
  return run_.discovery().ForKind(*group, {}, reference.Get("kind").String());
}

// ---- the decision ----

Result<Reconciler::Decision> Reconciler::Decide() {
  const bool may_leave_zero =
      shared_.settings.scale_to_zero &&
      MayLeaveZero(HasTrueCondition(old_status_, kScaledToZero), bounds_, spec_.Get("metrics"));
  if (current_ == 0 && !may_leave_zero) {
    Condition(kScalingActive, false, kScalingDisabled);
    RemoveCondition(StatusJson(), kScaledToZero);
    return Decision{};
  }
  // What is out of bounds is put right at once, whatever metrics, windows and rates say.
  if (current_ > bounds_.max)
    return Decision{.replicas = bounds_.max, .reason = std::string(kAboveMax)};
  if (current_ != 0 && current_ < bounds_.min)
    return Decision{.replicas = bounds_.min, .reason = std::string(kBelowMin)};
  return DecideByMetrics();
}

Result<Reconciler::Decision> Reconciler::DecideByMetrics() {
  Proposed proposed = Propose();
  if (!proposed.replicas) {
    if (rules::IsShuttingDown(*proposed.failed)) return *proposed.failed;
    Error error = GiveUp(*std::move(proposed.failed), std::move(proposed.statuses));
    if (!rules::IsShuttingDown(error)) Warn("FailedComputeMetricsReplicas", error.message);
    return error;
  }
  const int64_t proposal = std::max<int64_t>(0, *proposed.replicas);
  Decision out{.metrics = std::move(proposed.statuses), .failed = std::move(proposed.failed)};
  if (proposal > current_) out.reason = proposed.metric + " above target";
  if (proposal < current_) out.reason = "All metrics below target";

  const Normalized normalized = Normalize(proposal);
  Condition(kAbleToScale, true, normalized.able);
  Condition(kScalingLimited, normalized.limited, normalized.limit);
  out.replicas = normalized.replicas;
  // On the way back from zero.
  if (current_ == 0 && out.replicas < bounds_.min) {
    out.replicas = bounds_.min;
    if (out.reason.empty()) out.reason = kBelowMin;
  }
  return out;
}

Normalized Reconciler::Normalize(int64_t proposal) {
  if (behavior_)
    return NormalizeWithBehavior(history_, proposal, current_, bounds_, *behavior_, now_);
  return hpa::Normalize(history_, proposal, current_, bounds_,
                        shared_.settings.downscale_stabilization, now_);
}

Reconciler::Proposed Reconciler::Propose() {
  Proposed out;
  MatchingPods pods;
  if (const Status found = FindPods(&pods); !found.ok()) {
    out.failed = found.error();
    return out;
  }
  const ScaleTarget target{
      .ns = object_.Namespace(),
      .selector = pods.selector,
      .replicas = current_,
      .observed = scale_->Root().Path("status.replicas").Int(),
      .pods = pods.roots,
      .tolerances = TolerancesOf(spec_.Get("behavior"), shared_.settings.tolerance,
                                 shared_.settings.configurable_tolerance)};
  const MetricsClient client(run_, shared_.custom_api, shared_.context.clock());
  const Proposals proposals(shared_.settings, client, target, now_);
  const Node metrics = spec_.Get("metrics");
  size_t failures = 0;
  std::optional<MetricFailure> first;
  int64_t replicas = 0;
  out.statuses = json::array();
  for (const Node metric : metrics.Items()) {
    Computed computed = ComputeOne(proposals, metric);
    if (!computed.proposal) {
      if (rules::IsShuttingDown(computed.failure.error)) {
        out.failed = std::move(computed.failure.error);
        return out;
      }
      ++failures;
      if (!first) first = std::move(computed.failure);
      out.statuses.push_back(FailedMetricStatus());
      continue;
    }
    out.statuses.push_back(std::move(computed.proposal->status));
    if (replicas != 0 && computed.proposal->replicas <= replicas) continue;
    replicas = computed.proposal->replicas;
    out.metric = std::move(computed.proposal->metric);
  }
  if (first) {
    by_spec_ = first->by_spec;
    out.failed = MakeError(
        Code::kInternal, "invalid metrics (" + std::to_string(failures) + " invalid out of " +
                             std::to_string(metrics.size()) + "), first error is: " + first->text);
  }
  // What is not known could be what keeps the target from shrinking.
  if (first && (failures == metrics.size() || replicas < current_)) {
    Condition(kScalingActive, false, first->reason,
              "the HPA was unable to compute the replica count: " + first->error.message);
    return out;
  }
  Condition(kScalingActive, true, "ValidMetricFound",
            "the HPA was able to successfully calculate a replica count from " + out.metric);
  out.replicas = replicas;
  return out;
}

Status Reconciler::FindPods(MatchingPods* pods) {
  const std::string_view ns = object_.Namespace();
  pods->selector = scale_->Root().Path("status.selector").String();
  const auto refuse = [&](const Wording& words, std::string_view event, std::string text) {
    Warn(event, text);
    Condition(kScalingActive, false, words);
    return MakeError(Code::kInvalid, std::move(text));
  };
  if (pods->selector.empty())
    return refuse(kMissingSelector, "SelectorRequired", "selector is required");
  Result<rules::LabelSelector> selector = rules::LabelSelector::Parse(pods->selector);
  if (!selector.ok()) {
    const std::string text =
        "couldn't convert selector into a corresponding internal selector object: " +
        selector.error().message;
    return refuse({"InvalidSelector", text}, "InvalidSelector", text);
  }
  shared_.selectors.Set(ns, object_.Name(), *std::move(selector));
  pods->refs =
      shared_.context.cache().List(kPodWatch, {.ns = ns, .label_selector = pods->selector});
  for (const sdk::ObjectRef& pod : pods->refs) pods->roots.push_back(pod.Root());
  const Selectors::Names selecting = shared_.selectors.Selecting(ns, pods->roots);
  if (selecting.size() <= 1) return Ok();
  const std::string text = "pods by selector " + pods->selector +
                           " are controlled by multiple HPAs: " + KeysText(ns, selecting);
  return refuse({"AmbiguousSelector", text}, "AmbiguousSelector", text);
}

Computed Reconciler::ComputeOne(const Proposals& proposals, Node metric) const {
  const sdk::Clock clock = shared_.context.clock();
  const sdk::Duration start = clock.Monotonic();
  Computed computed = proposals.Of(metric);
  const MetricFailure& failure = computed.failure;
  if (!computed.proposal && rules::IsShuttingDown(failure.error)) return computed;
  if (!computed.proposal) Warn(failure.reason, failure.error.message);
  const std::string_view action =
      computed.proposal ? ActionOf(current_, computed.proposal->replicas) : kNoAction;
  const std::string_view error = computed.proposal ? kNoError
                                 : failure.by_spec ? kSpecError
                                                   : kInternalError;
  shared_.instruments.Computed(action, error, metric.Get("type").String(),
                               clock.Monotonic() - start);
  return computed;
}

// ---- writes ----

Status Reconciler::Rescale(const Decision& decision) {
  const std::string size = std::to_string(decision.replicas);
  const std::string words = "New size: " + size + "; reason: " + decision.reason;
  const Status put = PutScale(decision.replicas);
  if (!put.ok()) {
    if (rules::IsShuttingDown(put.error())) return put;
    const std::string& why = put.error().message;
    Warn("FailedRescale", words + "; error: " + why);
    Condition(kAbleToScale, false, "FailedUpdateScale",
              "the HPA controller was unable to update the target scale: " + why);
    return GiveUp(put.error(), decision.metrics);
  }
  Condition(kAbleToScale, true, "SucceededRescale",
            "the HPA controller was able to update the target scale to " + size);
  shared_.context.events().Record(object_, kHorizontalPodAutoscalers, EventType::kNormal,
                                  "SuccessfulRescale", words);
  if (behavior_) RecordScaling(history_, current_, decision.replicas, *behavior_, now_);
  NoteScaledToZero(decision.replicas);
  StatusJson()["lastScaleTime"] = rules::FormatTime(now_);
  action_ = ActionOf(current_, decision.replicas);
  run_.log().Info(2, "Successfully rescaled",
                  {{"horizontalPodAutoscaler", run_.key()},
                   {"from", current_},
                   {"to", decision.replicas},
                   {"reason", decision.reason}});
  return Ok();
}

// With the resourceVersion that was read: whoever has scaled meanwhile is asked anew.
Status Reconciler::PutScale(int64_t replicas) {
  const auto put = [&](int attempt) -> Status {
    if (attempt > 0) {
      Result<sdk::WholeRef> latest =
          client_.GetScale(*target_, object_.Namespace(), scale_->Name());
      if (!latest.ok()) return latest.error();
      scale_ = *std::move(latest);
    }
    sdk::Edit edit(*scale_);
    edit.json()["spec"]["replicas"] = replicas;
    const Result<sdk::WholeRef> answer = client_.UpdateScale(*target_, edit);
    return answer.ok() ? Ok() : Status(answer.error());
  };
  return RetryOnConflict(run_, shared_.context.clock(), kQuickRetry, put);
}

void Reconciler::NoteScaledToZero(int64_t replicas) {
  if (!shared_.settings.scale_to_zero) {
    RemoveCondition(StatusJson(), kScaledToZero);
    return;
  }
  const bool to_zero = GoesToZero(current_, replicas, bounds_, spec_.Get("metrics"));
  Condition(kScaledToZero, to_zero, to_zero ? kDidScaleToZero : kDidNotScaleToZero);
}

Status Reconciler::WriteStatus() {
  json& status = StatusJson();
  status.emplace("desiredReplicas", 0);
  status.emplace("currentMetrics", nullptr);
  if (SameStatus(old_status_, status)) return Ok();
  const Result<sdk::WholeRef> answer = client_.UpdateStatus(kHorizontalPodAutoscalers, edit_);
  if (answer.ok()) return Ok();
  if (!rules::IsShuttingDown(answer.error())) Warn("FailedUpdateStatus", answer.error().message);
  return answer.error();
}

Error Reconciler::GiveUp(Error error) {
  const Status written = WriteStatus();
  if (written.ok()) return error;
  if (rules::IsShuttingDown(written.error())) return written.error();
  run_.log().Error(written.error().message, "Failed to update the status of the HPA",
                   {{"horizontalPodAutoscaler", run_.key()}});
  return error;
}

Error Reconciler::GiveUp(Error error, json metrics) {
  json& status = StatusJson();
  SetCounts(status, current_, rules::JsonNode(status).Get("desiredReplicas").Int(),
            std::move(metrics));
  return GiveUp(std::move(error));
}

// ---- small words ----

void Reconciler::Condition(std::string_view type, bool holds, const Wording& words) {
  Condition(type, holds, words.reason, words.message);
}

void Reconciler::Condition(std::string_view type, bool holds, std::string_view reason,
                           std::string_view message) {
  SetCondition(StatusJson(), type, holds, reason, message, now_);
}

void Reconciler::Warn(std::string_view reason, std::string_view message) const {
  shared_.context.events().Record(object_, kHorizontalPodAutoscalers, EventType::kWarning, reason,
                                  message);
}

json& Reconciler::StatusJson() {
  json& status = edit_.json()["status"];
  if (!status.is_object()) status = json::object();
  return status;
}

}  // namespace kcm::pod::hpa
