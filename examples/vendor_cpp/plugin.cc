// SPDX-License-Identifier: Apache-2.0
// A vendor's plugin: labels every new namespace with the team that owns it, so that cost reports
// and policies find it. Shows a flag of one's own, an own metric, and the shape of a controller:
// declaration, events, reconcile.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "kcm/sdk/controller.h"
#include "team.h"

namespace vendor {
using namespace kcm;

// Constant data: `kcm-host plugins inspect vendor_cpp.so` prints it, --help shows the flag, RBAC
// manifests come from the rules.
constexpr sdk::MaskedWatch kNamespaces{0};
constexpr std::string_view kFields[] = {"metadata"};
constexpr sdk::Watch kWatches[] = {{.resource = "v1/namespaces", .fields = kFields}};
constexpr sdk::Queue kQueues[] = {{.name = "team_label", .workers = 2}};
constexpr std::string_view kCore[] = {""}, kResources[] = {"namespaces"},
                           kVerbs[] = {"list", "watch", "patch"};
constexpr sdk::Rule kRules[] = {{.api_groups = kCore, .resources = kResources, .verbs = kVerbs}};
constexpr sdk::Flag kFlags[] = {{.name = "vendor-default-team",
                                 .type = sdk::Flag::kString,
                                 .default_value = "platform",
                                 .help = "Team of namespaces whose name does not begin with one."}};
inline constexpr sdk::Declaration kDeclaration{.name = "team-label-controller",
                                               .client_name = "team-label-controller",
                                               .controller_flags = kFlags,
                                               .rules = kRules,
                                               .watches = kWatches,
                                               .queues = kQueues};
constexpr sdk::Resource kNamespaceResource{"", "v1", "namespaces", "Namespace"};

class TeamLabels {
 public:
  // Throwing refuses the build: the one that runs keeps running, and the operator reads why.
  explicit TeamLabels(sdk::Context& context)
      : context_(context), otherwise_(context.config().Flag("vendor-default-team").value_or("")) {
    if (otherwise_.empty())
      throw std::invalid_argument("--vendor-default-team: must not be empty: name a team");
    labelled_ = context.DefineMetric({.name = "vendor_namespaces_labelled_total",
                                      .help = "Namespaces that got a team.",
                                      .labels = {"team"}});
  }

  void OnChange(const sdk::Change& change) { context_.queue().Add(change.Key()); }

  sdk::Outcome Reconcile(sdk::Run& run) {
    const std::optional<sdk::ObjectRef> ns = context_.cache().Get(kNamespaces, run.key());
    if (!ns) return sdk::Outcome::Done();
    const std::optional<std::string> team = TeamFor(ns->Root(), otherwise_);
    if (!team) return sdk::Outcome::Done();
    const sdk::Json patch = {{"metadata", {{"labels", {{std::string(kLabel), *team}}}}}};
    const auto answer = run.client().PatchObject(kNamespaceResource, "", run.name(),
                                                 sdk::Patch::kMerge, patch.dump());
    if (!answer.ok() && answer.code() != Code::kNotFound)
      return sdk::Outcome::Retry(answer.error());
    labelled_.Add({*team});
    run.log().Info(2, "Labelled namespace", {{"namespace", run.name()}, {"team", *team}});
    return sdk::Outcome::Done();
  }

 private:
  sdk::Context& context_;
  const std::string otherwise_;
  sdk::Metric labelled_;
};

}  // namespace vendor

KCM_PLUGIN("vendor", "1.0.0", "example.com",
           KCM_CONTROLLER(vendor::TeamLabels, vendor::kDeclaration));
