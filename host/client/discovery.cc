// SPDX-License-Identifier: Apache-2.0
// Discovery: aggregated where the server has it, else group by group; partial failure; preferred
// versions; REST mapping.
#include "host/client/discovery.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/client/discovery_parse.h"

namespace kcm::host::client {
namespace {

constexpr clock::Duration kTimeout = std::chrono::seconds(32);
constexpr int kTries = 2;  // a partial result is asked for once more (13.2)
constexpr char kAggregated[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace

bool ApiResource::Supports(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

struct Discovery::Impl {
  Impl(std::shared_ptr<Client> c, clock::Clock* k, log::Logger l, Cancellation* end)
      : client(std::move(c)), clock(k), log(std::move(l)), cancel(end) {}

  Result<Answer> Fetch(const std::string& path, const char* accept) const {
    Call call{.verb = Verb::kGet, .raw_path = path};
    call.form = Form::kRaw;
    call.accept = accept;
    call.timeout = kTimeout;
    call.cancel = cancel;
    return client->Do(call);
  }
  // One group/version in unaggregated form; an error is noted in `failed`.
  void FetchVersion(const std::string& group_version, DiscoveryDocument* out) const;
  Status FetchRoot(const std::string& path, DiscoveryDocument* out) const;
  Result<DiscoveryDocument> FetchAll() const;
  Result<std::shared_ptr<const DiscoveryDocument>> Document();
  static std::vector<ApiResource> Preferred(const DiscoveryDocument& document);
  // The best match of `matches` in `document` by the priorities of 13.4.
  template <class Matches>
  static const ApiResource* Best(const DiscoveryDocument& document, Matches matches);
  template <class Matches>
  Result<ApiResource> Map(Matches matches, const std::string& what);

  const std::shared_ptr<Client> client;
  clock::Clock* const clock;
  const log::Logger log;
  Cancellation* const cancel;
  std::mutex fetch_mutex;  // one discovery at a time
  std::mutex mutex;
  std::shared_ptr<const DiscoveryDocument> document;  // guarded by mutex
  uint64_t resets = 0;                                // guarded by mutex
  uint64_t document_resets = 0;  // `resets` when document was asked for. Guarded by mutex
  int minor = -1;                // guarded by mutex
};

Discovery::Discovery(std::shared_ptr<Client> client, clock::Clock* clock, log::Logger log,
                     Cancellation* cancel)
    : impl_(std::make_unique<Impl>(std::move(client), clock, std::move(log), cancel)) {}
Discovery::~Discovery() = default;

void Discovery::Impl::FetchVersion(const std::string& group_version, DiscoveryDocument* out) const {
  const bool core = group_version.find('/') == std::string::npos;
  const Result<Answer> answer =
      Fetch((core ? "/api/" : "/apis/") + group_version, "application/json");
  std::string error =
      answer.ok() ? ParseResourceList(answer->raw, group_version, out) : answer.error().message;
  if (!error.empty()) out->result.failed.emplace_back(group_version, std::move(error));
}

Status Discovery::Impl::FetchRoot(const std::string& path, DiscoveryDocument* out) const {
  const Result<Answer> answer = Fetch(path, kAggregated);
  if (!answer.ok()) {
    if (path == "/api" && answer.error().Is(Code::kNotFound)) return Ok();  // tolerated (13.1)
    return answer.error();
  }
  if (answer->content_type.find("APIGroupDiscoveryList") != std::string::npos) {
    const std::string error = ParseAggregated(answer->raw, out);
    return error.empty() ? Ok() : Status(MakeError(Code::kInternal, "GET " + path + ": " + error));
  }
  std::vector<std::string> versions;
  const std::string error = ParseGroupList(answer->raw, out, &versions);
  if (!error.empty()) return MakeError(Code::kInternal, "GET " + path + ": " + error);
  for (const std::string& version : versions) FetchVersion(version, out);
  return Ok();
}

Result<DiscoveryDocument> Discovery::Impl::FetchAll() const {
  DiscoveryDocument out;
  for (int tries = 0; tries < kTries; ++tries) {
    out = DiscoveryDocument();
    for (const char* path : {"/api", "/apis"}) {
      const Status fetched = FetchRoot(path, &out);
      if (!fetched.ok()) return fetched.error();
    }
    if (out.result.failed.empty()) break;
  }
  return out;
}

Result<std::shared_ptr<const DiscoveryDocument>> Discovery::Impl::Document() {
  std::lock_guard<std::mutex> fetching(fetch_mutex);
  uint64_t asked_at = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (document) return document;
    asked_at = resets;
  }
  Result<DiscoveryDocument> fetched = FetchAll();
  if (!fetched.ok()) return fetched.error();
  if (!fetched->result.failed.empty()) {
    log.Info(2, "Discovery is incomplete",
             {{"groupVersion", fetched->result.failed[0].first},
              {"err", fetched->result.failed[0].second}});
  }
  auto made = std::make_shared<const DiscoveryDocument>(*std::move(fetched));
  std::lock_guard<std::mutex> lock(mutex);
  document = made;
  document_resets = asked_at;
  return made;
}

void Discovery::Reset() {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->document.reset();
  ++impl_->resets;
}

Result<std::shared_ptr<const DiscoveryResult>> Discovery::Get() {
  Result<std::shared_ptr<const DiscoveryDocument>> document = impl_->Document();
  if (!document.ok()) return document.error();
  return std::shared_ptr<const DiscoveryResult>(*document, &(*document)->result);
}

std::vector<ApiResource> Discovery::Impl::Preferred(const DiscoveryDocument& document) {
  std::vector<ApiResource> out;
  std::map<std::pair<std::string, std::string>, size_t> place;  // (group, resource) -> index in out
  for (const ApiResource& r : document.result.resources) {
    const auto [it, added] = place.emplace(std::pair(r.gvr.group, r.gvr.resource), out.size());
    if (added) {
      out.push_back(r);
    } else if (document.IsPreferred(r.gvr) && !document.IsPreferred(out[it->second].gvr)) {
      out[it->second] = r;
    }
  }
  return out;
}

Result<std::vector<ApiResource>> Discovery::PreferredResources() {
  Result<std::shared_ptr<const DiscoveryDocument>> document = impl_->Document();
  if (!document.ok()) return document.error();
  return Impl::Preferred(**document);
}

Result<DiscoveryResult> Discovery::FetchPreferred() {
  Result<DiscoveryDocument> fetched = impl_->FetchAll();
  if (!fetched.ok()) return fetched.error();
  std::vector<ApiResource> preferred = Impl::Preferred(*fetched);
  fetched->result.resources = std::move(preferred);
  return std::move(fetched->result);
}

template <class Matches>
const ApiResource* Discovery::Impl::Best(const DiscoveryDocument& document, Matches matches) {
  const ApiResource* best = nullptr;
  auto rank = [&document](const ApiResource& r) {
    if (r.gvr.group.empty()) return size_t{0};
    const auto& order = document.result.group_order;
    const size_t group =
        static_cast<size_t>(std::find(order.begin(), order.end(), r.gvr.group) - order.begin());
    return 1 + group * 2 + (document.IsPreferred(r.gvr) ? 0 : 1);
  };
  for (const ApiResource& r : document.result.resources) {
    if (matches(r) && (best == nullptr || rank(r) < rank(*best))) best = &r;
  }
  return best;
}

template <class Matches>
Result<ApiResource> Discovery::Impl::Map(Matches matches, const std::string& what) {
  for (int tries = 0; tries < 2; ++tries) {
    Result<std::shared_ptr<const DiscoveryDocument>> found = Document();
    if (!found.ok()) return found.error();
    if (const ApiResource* best = Best(**found, matches)) return *best;
    // A miss may be due to age: the first document is fetched anew once. One that was fetched after
    // a reset is believed until the next (13.4), or every look-up of a kind that is gone would cost
    // a discovery.
    std::lock_guard<std::mutex> lock(mutex);
    if (document != *found) continue;
    if (document_resets > 0) break;
    document.reset();
    ++resets;
  }
  return MakeError(Code::kNotFound, "no matches for " + what);
}

Result<ApiResource> Discovery::ForKind(std::string_view group, std::string_view version,
                                       std::string_view kind) {
  const std::string lower = Lower(kind);
  return impl_->Map(
      [&](const ApiResource& r) {
        return r.gvr.group == group && (version.empty() || r.gvr.version == version) &&
               (r.kind == kind || Lower(r.kind) == lower);
      },
      "kind \"" + std::string(kind) + "\" in " + (version.empty() ? "group \"" : "version \"") +
          std::string(group) + (version.empty() ? "" : "/" + std::string(version)) + "\"");
}

Result<ApiResource> Discovery::ForResource(const Gvr& gvr) {
  return impl_->Map(
      [&](const ApiResource& r) {
        return r.gvr.group == gvr.group && (gvr.version.empty() || r.gvr.version == gvr.version) &&
               r.gvr.resource == gvr.resource;
      },
      gvr.ApiVersion() + ", Resource=" + gvr.resource);
}

Result<int> Discovery::ServerMinor() {
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (impl_->minor >= 0) return impl_->minor;
  }
  const Result<Answer> answer = impl_->Fetch("/version", "application/json");
  if (!answer.ok()) return answer.error();
  const nlohmann::json version = nlohmann::json::parse(answer->raw, nullptr, false);
  const auto it = version.is_object() ? version.find("minor") : version.end();
  if (!version.is_object() || it == version.end() || !it->is_string()) {
    return MakeError(Code::kInternal, "GET /version: no minor version in the answer");
  }
  const int minor = std::atoi(it->get<std::string>().c_str());  // "28+" of vendors counts as 28
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->minor = minor;
  return minor;
}

}  // namespace kcm::host::client
