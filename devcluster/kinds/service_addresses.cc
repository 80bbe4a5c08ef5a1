// SPDX-License-Identifier: Apache-2.0
// Addresses of services (spec C6, C7): cluster IPs out of 10.96.0.0/16 and node ports out of
// 30000-32767. The allocator keeps no state of its own: what is taken is what the stored services
// hold.
#include <charconv>
#include <optional>
#include <set>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/admission.h"
#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

namespace {

constexpr uint32_t kRange = 10u << 24 | 96u << 16;
constexpr uint32_t kRangeSize = 1u << 16;
constexpr int64_t kFirstPort = 30000, kLastPort = 32767;
constexpr uint32_t kTries = 64;

std::optional<uint32_t> ParseAddress(std::string_view text) {
  uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const size_t dot = part == 3 ? text.size() : text.find('.');
    if (dot == std::string_view::npos || dot == 0 || dot > 3) return std::nullopt;
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + dot, value);
    if (error != std::errc() || end != text.data() + dot || value > 255) return std::nullopt;
    address = address << 8 | value;
    text.remove_prefix(part == 3 ? dot : dot + 1);
  }
  return address;
}

std::string AddressText(uint32_t a) {
  return std::to_string(a >> 24) + "." + std::to_string(a >> 16 & 255) + "." +
         std::to_string(a >> 8 & 255) + "." + std::to_string(a & 255);
}

struct Taken {
  std::set<std::string> addresses;
  std::set<int64_t> ports;
};

Taken TakenByOthers(const Admission& a) {
  Taken taken;
  static const Gvr* const kServices = new Gvr{"", "v1", "services"};
  for (const Json& service : a.info.reader->List(*kServices, "")) {
    const bool self =
        a.old != nullptr && Text(service, "metadata.uid") == Text(*a.old, "metadata.uid");
    if (self) continue;
    for (const Json& ip : Items(service, "spec.clusterIPs"))
      taken.addresses.insert(ip.get<std::string>());
    for (const Json& port : Items(service, "spec.ports")) {
      if (const int64_t number = Integer(port, "nodePort"); number != 0) taken.ports.insert(number);
    }
    if (const int64_t number = Integer(service, "spec.healthCheckNodePort"); number != 0)
      taken.ports.insert(number);
  }
  return taken;
}

ApiError InvalidService(const Admission& a, FieldError error) {
  return Invalid("", "Service", Text(a.object, "metadata.name"), {std::move(error)});
}

bool Headless(const Json& spec) { return Text(spec, "clusterIP") == "None"; }

// clusterIP and clusterIPs say the same; a client may give either.
void MirrorAddresses(Json& spec, const Json* old_spec) {
  const std::string ip(Text(spec, "clusterIP"));
  const Json& list = Items(spec, "clusterIPs");
  const bool moved = old_spec != nullptr && Text(*old_spec, "clusterIP") != ip && !ip.empty() &&
                     list == Items(*old_spec, "clusterIPs");
  if (!ip.empty() && (list.empty() || moved))
    spec["clusterIPs"] = Json::array({ip});
  else if (ip.empty() && !list.empty() && old_spec == nullptr)
    spec["clusterIP"] = list[0];
}

void ForgetAddresses(Json& spec) {
  for (const char* member :
       {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"}) {
    spec.erase(member);
  }
}

bool WantsNodePorts(const Json& spec) {
  const std::string_view type = Text(spec, "type");
  return type == "NodePort" ||
         (type == "LoadBalancer" && Flag(spec, "allocateLoadBalancerNodePorts", true));
}

bool WantsHealthPort(const Json& spec) {
  return Text(spec, "type") == "LoadBalancer" && Text(spec, "externalTrafficPolicy") == "Local";
}

// A PUT without the allocated values keeps them.
void TakeOver(Json& spec, const Json& old_spec) {
  if (Text(spec, "type") != "ExternalName" && Text(old_spec, "type") != "ExternalName") {
    for (const char* member : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      const Json* before = Find(old_spec, member);
      if (IsEmpty(Find(spec, member)) && before != nullptr) spec[member] = *before;
    }
  }
  if (WantsNodePorts(spec) && WantsNodePorts(old_spec)) {
    Json* ports = Find(spec, "ports");
    if (ports != nullptr && ports->is_array()) {
      for (Json& port : *ports) {
        if (Integer(port, "nodePort") != 0) continue;
        for (const Json& before : Items(old_spec, "ports")) {
          if (Integer(before, "port") == Integer(port, "port") &&
              Text(before, "protocol") == Text(port, "protocol") &&
              Integer(before, "nodePort") != 0) {
            port["nodePort"] = Integer(before, "nodePort");
          }
        }
      }
    }
  }
  const int64_t health = Integer(old_spec, "healthCheckNodePort");
  if (health != 0 && WantsHealthPort(spec) && Integer(spec, "healthCheckNodePort") == 0)
    spec["healthCheckNodePort"] = health;
}

// Values that only the old type had are dropped unless the client changed them (then validation
// speaks).
void DropOfOldType(Json& spec, const Json& old_spec) {
  if (WantsNodePorts(old_spec) && !WantsNodePorts(spec)) {
    if (Json* ports = Find(spec, "ports"); ports != nullptr && ports->is_array()) {
      for (Json& port : *ports) port.erase("nodePort");
    }
  }
  const std::string_view type = Text(spec, "type");
  const auto drop = [&](bool useless, const char* member) {
    if (useless && SameMember(spec, old_spec, member)) spec.erase(member);
  };
  const bool external =
      type == "NodePort" || type == "LoadBalancer" || !Items(spec, "externalIPs").empty();
  drop(!external, "externalTrafficPolicy");
  drop(type != "LoadBalancer", "allocateLoadBalancerNodePorts");
  drop(type != "LoadBalancer", "loadBalancerClass");
  drop(!WantsHealthPort(spec), "healthCheckNodePort");
  drop(type != "ExternalName", "externalName");
  if (type == "ExternalName" && Text(old_spec, "type") != "ExternalName" &&
      (Text(spec, "clusterIP").empty() || SameMember(spec, old_spec, "clusterIP"))) {
    ForgetAddresses(spec);
  }
}

void DefaultFamilies(Json& spec) {
  const bool no_selector = IsEmpty(Find(spec, "selector"));
  if (Headless(spec) && no_selector && IsEmpty(Find(spec, "ipFamilies")) &&
      IsEmpty(Find(spec, "ipFamilyPolicy"))) {
    spec["ipFamilyPolicy"] = "RequireDualStack";
    spec["ipFamilies"] = Json::array({"IPv4", "IPv6"});
    return;
  }
  if (IsEmpty(Find(spec, "ipFamilies"))) spec["ipFamilies"] = Json::array({"IPv4"});
  SetDefaultText(spec, "ipFamilyPolicy", "SingleStack");
}

Refusal AllocateAddress(const Admission& a, Json& spec, const Taken& taken) {
  const Json& given = Items(spec, "clusterIPs");
  if (Headless(spec)) {
    spec["clusterIPs"] = Json::array({"None"});
    return std::nullopt;
  }
  if (!given.empty()) {
    const std::string text = given[0].is_string() ? given[0].get<std::string>() : "";
    const std::optional<uint32_t> address = ParseAddress(text);
    const auto refuse = [&](const char* why) {
      return InvalidService(a, InvalidValue("spec.clusterIPs", given.dump(),
                                            "failed to allocate IP " + text + ": " + why));
    };
    if (!address) {
      return InvalidService(a, InvalidValue("spec.clusterIPs[0]", given[0].dump(),
                                            "must be a valid IP address, (e.g. 10.9.8.7 or "
                                            "2001:db8::ffff)"));
    }
    if (*address < kRange || *address - kRange >= kRangeSize) {
      return refuse("the provided network does not match the current range");
    }
    if (taken.addresses.contains(text)) return refuse("provided IP is already allocated");
    return std::nullopt;
  }
  for (uint32_t i = 0; i < kRangeSize + kTries; ++i) {
    // Random first, as the API server's allocator; then every address in order, so that a full
    // range is seen as such.
    const uint32_t offset = i < kTries ? 1 + RandomBelow(kRangeSize - 2) : i - kTries;
    if (offset == 0 || offset >= kRangeSize - 1) continue;
    const std::string text = AddressText(kRange + offset);
    if (taken.addresses.contains(text)) continue;
    spec["clusterIPs"] = Json::array({text});
    spec["clusterIP"] = text;
    return std::nullopt;
  }
  return Untyped("failed to allocate a serviceIP: range is full");
}

std::optional<int64_t> FreePort(const Taken& taken) {
  constexpr auto kCount = static_cast<uint32_t>(kLastPort - kFirstPort + 1);
  for (uint32_t i = 0; i < kCount + kTries; ++i) {
    const int64_t port = kFirstPort + (i < kTries ? RandomBelow(kCount) : i - kTries);
    if (!taken.ports.contains(port)) return port;
  }
  return std::nullopt;
}

Refusal AllocatePorts(const Admission& a, Json& spec, Taken& taken) {
  Json* ports = Find(spec, "ports");
  if (WantsNodePorts(spec) && ports != nullptr && ports->is_array()) {
    std::set<std::string> own;
    for (size_t i = 0; i < ports->size(); ++i) {
      Json& port = (*ports)[i];
      const std::string at = "spec.ports[" + std::to_string(i) + "].nodePort";
      int64_t number = Integer(port, "nodePort");
      if (number != 0 && (number < kFirstPort || number > kLastPort)) {
        return InvalidService(a,
                              InvalidValue(at, std::to_string(number),
                                           "provided port is not in the valid range. The range of "
                                           "valid ports is 30000-32767"));
      }
      if (number != 0 && taken.ports.contains(number) && !own.contains(std::to_string(number))) {
        return InvalidService(
            a, InvalidValue(at, std::to_string(number), "provided port is already allocated"));
      }
      if (number == 0) {
        const std::optional<int64_t> free = FreePort(taken);
        if (!free) return Untyped("failed to allocate a nodePort: range is full");
        number = *free;
        port["nodePort"] = number;
      }
      taken.ports.insert(number);
      own.insert(std::to_string(number));
    }
  }
  if (WantsHealthPort(spec) && Integer(spec, "healthCheckNodePort") == 0) {
    const std::optional<int64_t> free = FreePort(taken);
    if (!free) return Untyped("failed to allocate a nodePort: range is full");
    spec["healthCheckNodePort"] = *free;
  }
  return std::nullopt;
}

}  // namespace

Refusal AllocateAddresses(const Admission& a) {
  if (!a.Of("services") || !a.Main() || !(a.IsCreate() || a.IsUpdate())) return std::nullopt;
  Json& spec = Child(a.object, "spec");
  const Json* old_spec = a.old == nullptr ? nullptr : Find(*a.old, "spec");
  if (old_spec != nullptr) {
    DropOfOldType(spec, *old_spec);
    TakeOver(spec, *old_spec);
  }
  MirrorAddresses(spec, old_spec);
  if (Text(spec, "type") == "ExternalName") {
    if (old_spec == nullptr && Text(spec, "clusterIP").empty()) ForgetAddresses(spec);
    return std::nullopt;
  }
  DefaultFamilies(spec);
  Taken taken = TakenByOthers(a);
  const bool has_address = old_spec != nullptr && !Items(*old_spec, "clusterIPs").empty();
  if (!has_address) {
    if (Refusal r = AllocateAddress(a, spec, taken)) return r;
  }
  return AllocatePorts(a, spec, taken);
}

}  // namespace kcm::devcluster::kinds
