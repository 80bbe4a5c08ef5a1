// SPDX-License-Identifier: Apache-2.0
// A plugin for tests: reports what ConfigMaps tell it to, once per change of each.
//
//   data: {"about": "v1/Node//n1", "001": "Reason|message", "002": "Reason|message"}
// The keys of numbers are events, reported in their order.
#include <string>
#include <vector>

#include "kcm/sdk/controller.h"

namespace kcm::testing {

constexpr sdk::MaskedWatch kConfigMaps{0};
constexpr std::string_view kFields[] = {"metadata", "data"};
constexpr sdk::Watch kWatches[] = {{.resource = "v1/configmaps", .fields = kFields}};
constexpr sdk::Queue kQueues[] = {{.name = "test_events", .workers = 1}};
inline constexpr sdk::Declaration kDeclaration{.name = "test-events-controller",
                                               .client_name = "test-events-controller",
                                               .event_source = "test-events-controller",
                                               .watches = kWatches,
                                               .queues = kQueues};

// The parts of `text` between `separator`s.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  return parts;
}

class Reporter {
 public:
  explicit Reporter(sdk::Context& context) : context_(context) {}

  void OnChange(const sdk::Change& change) {
    if (change.object().Path("data.about").Has()) context_.queue().Add(change.Key());
  }

  sdk::Outcome Reconcile(sdk::Run& run) {
    const std::optional<sdk::ObjectRef> map = context_.cache().Get(kConfigMaps, run.key());
    if (!map) return sdk::Outcome::Done();
    const std::vector<std::string> about = Split(map->Root().Path("data.about").String(), '/');
    if (about.size() != 4)
      return sdk::Outcome::Failed(
          MakeError(Code::kInvalid, "about: want version/kind/namespace/name"));
    kcm_reference reference{};
    reference.size = sizeof(reference);
    const auto text = [](const std::string& s) { return kcm_str{s.data(), s.size()}; };
    reference.api_version = text(about[0]);
    reference.kind = text(about[1]);
    reference.namespace_name = text(about[2]);
    reference.name = text(about[3]);
    for (const auto& [key, value] : map->Root().Get("data").Entries()) {
      if (key == "about") continue;
      const std::vector<std::string> event = Split(value.String(), '|');
      if (event.size() == 2)
        context_.events().Record(reference, sdk::EventType::kNormal, event[0], event[1]);
    }
    return sdk::Outcome::Done();
  }

 private:
  sdk::Context& context_;
};

}  // namespace kcm::testing

KCM_PLUGIN("test-events", "1.0.0", "kcm-host tests",
           KCM_CONTROLLER(kcm::testing::Reporter, kcm::testing::kDeclaration));
