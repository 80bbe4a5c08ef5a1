// SPDX-License-Identifier: Apache-2.0
// Searches devices for claims.
#include "devcluster/nodes/device_choice.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "devcluster/nodes/device_selector.h"
#include "devcluster/nodes/json_text.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/node_affinity.h"

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::Node;

constexpr char kCanNot[] = "cannot allocate all claims";
constexpr size_t kMostDevices = 32;  // of one claim, as the API has it
constexpr int kMostSteps = 20000;    // of one search: beyond it the claim counts as not allocatable
constexpr size_t kMostConsumers = 256;  // of one claim, as the API has it

// A device that could be used on the node under consideration.
struct Device {
  std::string driver, pool, name;
  Node spec;
  std::string Id() const { return driver + "/" + pool + "/" + name; }
};

// A request or one alternative of it, compiled.
struct Wish {
  std::string name;  // "gpu" or "gpu/large"
  std::vector<DeviceSelector> selectors;
  bool all = false, admin = false;
  size_t count = 1;

  bool Likes(const Device& d) const {
    return std::all_of(selectors.begin(), selectors.end(),
                       [&](const DeviceSelector& s) { return s.Matches(d.driver, d.spec); });
  }
};
using Alternatives = std::vector<Wish>;

// All of these requests' devices have the same value of an attribute.
struct Constraint {
  std::set<std::string, std::less<>> requests;  // empty: all
  std::string domain, attribute;

  bool Covers(const std::string& wish) const {
    return requests.empty() || requests.contains(wish) ||
           requests.contains(wish.substr(0, wish.find('/')));
  }
};

struct Compiled {
  const JsonObject* claim = nullptr;
  std::vector<Alternatives> requests;
  std::vector<Constraint> constraints;
};

struct Picked {
  const Wish* wish;
  const Device* device;
};

// Depth-first over requests and devices; the first full set wins.
class Search {
 public:
  Search(const Compiled& claim, const std::vector<Device>& devices, const DeviceIds& used)
      : claim_(claim), devices_(devices), used_(used) {}

  bool Run() { return Request(0); }
  const std::vector<Picked>& picked() const { return picked_; }

 private:
  bool Request(size_t index) {
    if (index == claim_.requests.size()) return picked_.size() <= kMostDevices;
    for (const Wish& wish : claim_.requests[index]) {
      if (wish.all ? All(wish, index) : Count(wish, index, 0, 0)) return true;
    }
    return false;
  }

  // Every device the wish likes must be free.
  bool All(const Wish& wish, size_t index) {
    const size_t before = picked_.size();
    bool good = true;
    for (const Device& d : devices_) {
      if (!wish.Likes(d)) continue;
      good = good && Free(wish, d) && Agrees(wish, d);
      if (!good) break;
      picked_.push_back({&wish, &d});
    }
    good = good && picked_.size() > before;
    if (good && Request(index + 1)) return true;
    picked_.resize(before);
    return false;
  }

  bool Count(const Wish& wish, size_t index, size_t have, size_t from) {
    if (have == wish.count) return Request(index + 1);
    for (size_t i = from; i < devices_.size(); ++i) {
      if (++steps_ > kMostSteps) return false;
      const Device& d = devices_[i];
      if (!wish.Likes(d) || !Free(wish, d) || !Agrees(wish, d)) continue;
      picked_.push_back({&wish, &d});
      if (Count(wish, index, have + 1, i + 1)) return true;
      picked_.pop_back();
    }
    return false;
  }

  bool Free(const Wish& wish, const Device& d) const {
    if (wish.admin) return true;
    if (used_.contains(d.Id())) return false;
    return std::none_of(picked_.begin(), picked_.end(),
                        [&](const Picked& p) { return p.device == &d && !p.wish->admin; });
  }

  bool Agrees(const Wish& wish, const Device& d) const {
    for (const Constraint& c : claim_.constraints) {
      if (!c.Covers(wish.name)) continue;
      const Node mine = AttributeOf(d.spec, d.driver, c.domain, c.attribute);
      if (!mine.Has()) return false;
      for (const Picked& p : picked_) {
        if (!c.Covers(p.wish->name)) continue;
        const Node theirs = AttributeOf(p.device->spec, p.device->driver, c.domain, c.attribute);
        if (AttributeText(mine) != AttributeText(theirs)) return false;
      }
    }
    return true;
  }

  const Compiled& claim_;
  const std::vector<Device>& devices_;
  const DeviceIds& used_;
  std::vector<Picked> picked_;
  int steps_ = 0;
};

void AddDevices(Node allocation, DeviceIds* out) {
  for (const Node r : allocation.Path("devices.results").Items()) {
    if (r.Get("adminAccess").Bool()) continue;
    out->insert(TextOf(r.Get("driver")) + "/" + TextOf(r.Get("pool")) + "/" +
                TextOf(r.Get("device")));
  }
}

bool SliceIsFor(Node slice_spec, const NodeObject& node) {
  if (slice_spec.Get("allNodes").Bool()) return true;
  if (slice_spec.Get("nodeName").IsString())
    return slice_spec.Get("nodeName").String() == node.name;
  const Node selector = slice_spec.Get("nodeSelector");
  return selector.Has() && rules::NodeSelectorTerms(selector).Matches(JsonNode(*node.identity));
}

Result<std::vector<DeviceSelector>> SelectorsOf(Node list) {
  std::vector<DeviceSelector> out;
  for (const Node s : list.Items()) {
    Result<DeviceSelector> one = DeviceSelector::Parse(s.Path("cel.expression").String());
    if (!one.ok()) return one.error();
    out.push_back(std::move(*one));
  }
  return out;
}

}  // namespace

struct DeviceChoice::Impl {
  const Pod& pod;
  const DeviceBooks& books;
  std::optional<std::string> missing;
  std::vector<const JsonObject*> allocated;  // claims that have their devices
  std::vector<Compiled> wanted;
  DeviceIds used;
  std::map<std::string, int64_t> generations;  // of pools; only slices of the newest count

  Impl(const Pod& p, const DeviceBooks& b) : pod(p), books(b) {}
  void Look(const PodClaim& entry);
  Result<Wish> WishOf(const std::string& name, Node request) const;
  Status Compile(const JsonObject& claim);
  void CountUsed();
  std::vector<Device> DevicesOn(const NodeObject& node) const;
  bool Plan(const NodeObject& node, std::vector<ClaimAllocation>* out) const;
  Json AllocationOf(const Compiled& claim, const std::vector<Picked>& picked,
                    const NodeObject& node) const;
};

Result<Wish> DeviceChoice::Impl::WishOf(const std::string& name, Node request) const {
  Wish wish;
  wish.name = name;
  const std::string class_name = TextOf(request.Get("deviceClassName"));
  const auto device_class = books.classes.find(class_name);
  if (device_class == books.classes.end()) {
    return MakeError(Code::kNotFound, "device class " + class_name + " does not exist");
  }
  for (const Node list :
       {JsonNode(*device_class->second.body).Path("spec.selectors"), request.Get("selectors")}) {
    Result<std::vector<DeviceSelector>> some = SelectorsOf(list);
    if (!some.ok()) return some.error();
    std::move(some->begin(), some->end(), std::back_inserter(wish.selectors));
  }
  wish.all = request.Get("allocationMode").String() == "All";
  wish.admin = request.Get("adminAccess").Bool();
  wish.count = static_cast<size_t>(std::max<int64_t>(request.Get("count").Int(1), 1));
  return wish;
}

Status DeviceChoice::Impl::Compile(const JsonObject& claim) {
  Compiled out;
  out.claim = &claim;
  const Node devices = JsonNode(*claim.body).Path("spec.devices");
  for (const Node request : devices.Get("requests").Items()) {
    const std::string name = TextOf(request.Get("name"));
    Alternatives alternatives;
    const Node list = request.Get("firstAvailable");
    for (const Node one : list.Items()) {
      Result<Wish> wish = WishOf(name + "/" + TextOf(one.Get("name")), one);
      if (!wish.ok()) return wish.error();
      alternatives.push_back(std::move(*wish));
    }
    if (list.empty()) {
      Result<Wish> wish = WishOf(name, request.Get("exactly"));
      if (!wish.ok()) return wish.error();
      alternatives.push_back(std::move(*wish));
    }
    out.requests.push_back(std::move(alternatives));
  }
  for (const Node c : devices.Get("constraints").Items()) {
    Constraint constraint;
    for (const Node r : c.Get("requests").Items()) constraint.requests.insert(TextOf(r));
    const std::string attribute = TextOf(c.Get("matchAttribute"));
    const size_t slash = attribute.find('/');
    if (slash == std::string::npos) continue;
    constraint.domain = attribute.substr(0, slash);
    constraint.attribute = attribute.substr(slash + 1);
    out.constraints.push_back(std::move(constraint));
  }
  wanted.push_back(std::move(out));
  return Ok();
}

void DeviceChoice::Impl::Look(const PodClaim& entry) {
  if (entry.needless || missing) return;
  if (entry.claim.empty()) {
    missing = "waiting for the resource claim of \"" + entry.entry + "\" to be made";
    return;
  }
  const auto found = books.claims.find(Key(pod.ns, entry.claim));
  if (found == books.claims.end()) {
    missing = "resourceclaim \"" + entry.claim + "\" not found";
    return;
  }
  const JsonObject& claim = found->second;
  if (claim.deleting) {
    missing = "resourceclaim \"" + entry.claim + "\" is being deleted";
    return;
  }
  const Node status = JsonNode(*claim.body).Get("status");
  if (!status.Get("allocation").Has()) {
    if (books.promised.contains(found->first)) {
      missing = "resourceclaim \"" + entry.claim + "\" is being allocated";
      return;
    }
    const Status s = Compile(claim);
    if (!s.ok()) missing = "resourceclaim \"" + entry.claim + "\": " + s.error().message;
    return;
  }
  if (status.Get("reservedFor").size() >= kMostConsumers) {
    missing = "resourceclaim \"" + entry.claim + "\" has all the consumers that it may have";
    return;
  }
  allocated.push_back(&claim);
}

void DeviceChoice::Impl::CountUsed() {
  for (const auto& [key, claim] : books.claims) {
    AddDevices(JsonNode(*claim.body).Path("status.allocation"), &used);
  }
  for (const auto& [key, devices] : books.promised) used.insert(devices.begin(), devices.end());
  for (const auto& [name, slice] : books.slices) {
    const Node spec = JsonNode(*slice.body).Get("spec");
    int64_t& newest =
        generations[TextOf(spec.Get("driver")) + "/" + TextOf(spec.Path("pool.name"))];
    newest = std::max(newest, spec.Path("pool.generation").Int());
  }
}

std::vector<Device> DeviceChoice::Impl::DevicesOn(const NodeObject& node) const {
  std::vector<Device> out;
  for (const auto& [name, slice] : books.slices) {
    const Node spec = JsonNode(*slice.body).Get("spec");
    if (!SliceIsFor(spec, node)) continue;
    const std::string driver = TextOf(spec.Get("driver")), pool = TextOf(spec.Path("pool.name"));
    if (spec.Path("pool.generation").Int() < generations.at(driver + "/" + pool)) continue;
    for (const Node d : spec.Get("devices").Items()) {
      out.push_back({driver, pool, TextOf(d.Get("name")), d});
    }
  }
  return out;
}

Json DeviceChoice::Impl::AllocationOf(const Compiled& claim, const std::vector<Picked>& picked,
                                      const NodeObject& node) const {
  json results = json::array();
  for (const Picked& p : picked) {
    json r = {{"request", p.wish->name},
              {"driver", p.device->driver},
              {"pool", p.device->pool},
              {"device", p.device->name}};
    if (p.wish->admin) r["adminAccess"] = true;
    results.push_back(std::move(r));
  }
  json allocation = {
      {"devices", {{"results", std::move(results)}}},
      {"nodeSelector",
       {{"nodeSelectorTerms",
         json::array(
             {{{"matchFields", json::array({{{"key", "metadata.name"},
                                             {"operator", "In"},
                                             {"values", json::array({node.name})}}})}}})}}}};
  // The configuration in the claim goes to the driver with the result.
  const json::json_pointer config("/spec/devices/config");
  if (claim.claim->body->contains(config)) {
    for (json entry : claim.claim->body->at(config)) {
      entry["source"] = "FromClaim";
      allocation["devices"]["config"].push_back(std::move(entry));
    }
  }
  return std::make_shared<const json>(std::move(allocation));
}

bool DeviceChoice::Impl::Plan(const NodeObject& node, std::vector<ClaimAllocation>* out) const {
  for (const JsonObject* claim : allocated) {
    const Node selector = JsonNode(*claim->body).Path("status.allocation.nodeSelector");
    if (selector.Has() && !rules::NodeSelectorTerms(selector).Matches(JsonNode(*node.identity))) {
      return false;
    }
    out->push_back({claim->ns, claim->name, claim->uid, claim->resource_version, nullptr, {}});
  }
  if (wanted.empty()) return true;
  const std::vector<Device> devices = DevicesOn(node);
  DeviceIds taken = used;
  for (const Compiled& claim : wanted) {
    Search search(claim, devices, taken);
    if (!search.Run()) return false;
    ClaimAllocation a{claim.claim->ns,  claim.claim->name,
                      claim.claim->uid, claim.claim->resource_version,
                      nullptr,          {}};
    for (const Picked& p : search.picked()) {
      if (!p.wish->admin) a.devices.insert(p.device->Id());
    }
    taken.insert(a.devices.begin(), a.devices.end());
    a.allocation = AllocationOf(claim, search.picked(), node);
    out->push_back(std::move(a));
  }
  return true;
}

DeviceChoice::DeviceChoice(const Pod& pod, const DeviceBooks& books)
    : impl_(std::make_unique<Impl>(pod, books)) {
  for (const PodClaim& entry : pod.device_claims) impl_->Look(entry);
  if (!impl_->wanted.empty()) impl_->CountUsed();
}
DeviceChoice::~DeviceChoice() = default;

const std::optional<std::string>& DeviceChoice::missing() const { return impl_->missing; }

std::string DeviceChoice::Against(const NodeObject& node) const {
  std::vector<ClaimAllocation> ignored;
  return impl_->Plan(node, &ignored) ? std::string() : std::string(kCanNot);
}

std::vector<ClaimAllocation> DeviceChoice::Allocations(const NodeObject& node) const {
  std::vector<ClaimAllocation> out;
  impl_->Plan(node, &out);
  return out;
}

}  // namespace kcm::devcluster::nodes
