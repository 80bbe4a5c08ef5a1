// SPDX-License-Identifier: Apache-2.0
// A custom resource's schema and an object for it.
#include "devcluster/kinds/custom_schema.h"

#include <nlohmann/json.hpp>

#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  using devcluster::Json;
  const auto parts = Parts(input, 2);
  const Json schema = Json::parse(parts[0], nullptr, false);
  Json object = Json::parse(parts[1], nullptr, false);
  if (!schema.is_object() || !object.is_object()) return;
  if (!devcluster::kinds::CustomSchema::Check(schema, "schema").empty()) return;
  const devcluster::kinds::CustomSchema compiled(schema);
  const Json old = object;
  std::vector<std::string> unknown;
  compiled.Prune(object, &unknown);
  compiled.SetDefaults(object);
  for (const auto& wrong : compiled.Validate(object, &old)) (void)wrong;
  Json again = object;
  compiled.Prune(again, nullptr);
  compiled.SetDefaults(again);
  Check(again == object, "pruning and defaulting twice changes nothing more");
}

std::vector<std::string> Seeds() {
  const std::string_view schema =
      R"({"type":"object","properties":{"spec":{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":1,"default":3},"s":{"type":"string","pattern":"^a+$","enum":["a","aa"]},"l":{"type":"array","maxItems":2,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string","default":"z"}}}},"any":{"x-kubernetes-preserve-unknown-fields":true},"m":{"type":"object","additionalProperties":{"type":"number"}}},"x-kubernetes-validations":[{"rule":"self.n < 10","message":"m"}]}}})";
  return {
      Join({schema,
            R"({"spec":{"n":5,"s":"a","l":[{"k":"x"},{}],"any":{"q":1},"m":{"x":1.5},"gone":1}})"}),
      Join({schema, R"({"spec":{}})"}),
      Join({schema, R"({"spec":{"n":"x","s":7,"l":[{"k":"x"},{"k":"x"}]}})"})};
}

}  // namespace kcm::fuzz
