// SPDX-License-Identifier: Apache-2.0
// Adapters over the client.
#include "host/main/wiring.h"

#include "host/client/service_account_token.h"
#include "host/client/user_agent.h"
#include "host/wire/codec.h"

namespace kcm::host::main {

namespace {
const client::Gvr kEvents{"", "v1", "events"};
constexpr auto kReviewTimeout = std::chrono::seconds(10);

Result<Unit> Discard(Result<client::Answer> answer) {
  if (answer.ok()) return Ok();
  return answer.error();
}

Result<std::string> Text(Result<client::Answer> answer) {
  if (!answer.ok()) return answer.error();
  if (!answer->object) return std::move(answer->raw);
  std::string out;
  wire::EncodeJson(answer->object->Root(), &answer->type, &out);
  return out;
}
}  // namespace

Result<Unit> ClientEventSink::Post(const std::string& namespace_, const std::string& json) {
  client::Call call;
  call.verb = client::Verb::kCreate;
  call.resource = kEvents;
  call.ns = namespace_;
  call.body = json;
  call.cancel = &cancel_;
  return Discard(client_->Do(call));
}

Result<Unit> ClientEventSink::Patch(const std::string& namespace_, const std::string& name,
                                    const std::string& json) {
  client::Call call;
  call.verb = client::Verb::kPatch;
  call.patch = client::PatchType::kStrategic;
  call.resource = kEvents;
  call.ns = namespace_;
  call.name = name;
  call.body = json;
  call.cancel = &cancel_;
  return Discard(client_->Do(call));
}

Result<std::string> ClientReviews::Post(client::Gvr resource, const std::string& json) {
  client::Call call;
  call.verb = client::Verb::kCreate;
  call.resource = std::move(resource);
  call.body = json;
  call.timeout = kReviewTimeout;
  return Text(client_->Do(call));
}
Result<std::string> ClientReviews::CreateTokenReview(const std::string& json) {
  return Post({"authentication.k8s.io", "v1", "tokenreviews"}, json);
}
Result<std::string> ClientReviews::CreateSubjectAccessReview(const std::string& json) {
  return Post({"authorization.k8s.io", "v1", "subjectaccessreviews"}, json);
}
Result<std::string> ClientReviews::GetAuthenticationConfigMap() {
  client::Call call;
  call.verb = client::Verb::kGet;
  call.resource = {"", "v1", "configmaps"};
  call.ns = "kube-system";
  call.name = "extension-apiserver-authentication";
  call.timeout = kReviewTimeout;
  return Text(client_->Do(call));
}

Clients::Clients(Settings settings, std::shared_ptr<client::Transport> transport)
    : settings_(std::move(settings)), transport_(std::move(transport)) {}

client::ClientOptions Clients::Base(const std::string& suffix) const {
  client::ClientOptions o;
  o.transport = transport_;
  o.user_agent = client::UserAgent(settings_.program, settings_.options->build.git_version,
                                   settings_.options->build.git_commit, suffix);
  o.clock = settings_.clock;
  o.log = settings_.log;
  o.metrics = settings_.metrics;
  return o;
}

std::shared_ptr<client::Client> Clients::Root(const std::string& suffix,
                                              std::shared_ptr<const client::Fence> fence,
                                              double qps_factor, double burst_factor) const {
  client::ClientOptions o = Base(suffix);
  const config::ClientOptions& c = settings_.options->client;
  o.qps = qps_factor <= 0 ? -1 : c.qps * qps_factor;
  o.burst = static_cast<int>(static_cast<double>(c.burst) * burst_factor);
  o.fence = std::move(fence);
  return std::make_shared<client::Client>(std::move(o));
}

std::shared_ptr<client::Client> Clients::On(std::shared_ptr<client::Transport> transport,
                                            const std::string& suffix, double qps,
                                            int burst) const {
  client::ClientOptions o = Base(suffix);
  o.transport = std::move(transport);
  o.qps = qps;
  o.burst = burst;
  return std::make_shared<client::Client>(std::move(o));
}

Result<std::shared_ptr<client::Client>> Clients::ForController(
    const plugin::ControllerDeclaration& controller, std::shared_ptr<const client::Fence> fence) {
  if (!settings_.options->client.use_service_account_credentials || controller.root_identity)
    return Root(controller.client_name, std::move(fence), controller.qps_factor,
                controller.burst_factor);
  std::shared_ptr<client::TokenSource> token;
  {
    const std::lock_guard lock(mutex_);
    const auto it = tokens_.find(controller.client_name);
    if (it != tokens_.end()) token = it->second;
  }
  if (!token) {
    client::ServiceAccountTokenOptions o;
    o.client = Root(std::string(config::kComponent), fence);
    o.name = controller.client_name;
    o.clock = settings_.clock;
    o.log = settings_.log;
    o.cancel = settings_.stopping;
    if (Status s = client::EnsureServiceAccount(o); !s.ok()) return s.error();
    token = client::MakeServiceAccountTokenSource(std::move(o));
    const std::lock_guard lock(mutex_);
    token = tokens_.try_emplace(controller.client_name, std::move(token)).first->second;
  }
  client::ClientOptions o = Base("system:serviceaccount:kube-system:" + controller.client_name);
  const config::ClientOptions& c = settings_.options->client;
  o.qps = c.qps * controller.qps_factor;
  o.burst = static_cast<int>(static_cast<double>(c.burst) * controller.burst_factor);
  o.token = std::move(token);
  o.fence = std::move(fence);
  return std::make_shared<client::Client>(std::move(o));
}

}  // namespace kcm::host::main
