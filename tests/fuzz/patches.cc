// SPDX-License-Identifier: Apache-2.0
// The three classic patch types on a document.
#include <nlohmann/json.hpp>

#include "devcluster/server/failure.h"
#include "devcluster/server/patch_document.h"
#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  using devcluster::Json;
  const auto parts = Parts(input, 2);
  const Json document = Json::parse(parts[0], nullptr, false);
  const Json patch = Json::parse(parts[1], nullptr, false);
  if (document.is_discarded() || patch.is_discarded()) return;
  const auto refused = [](const auto& apply) {
    try {
      (void)apply().dump(-1, ' ', false, Json::error_handler_t::replace);
    } catch (const devcluster::Failure& f) {
      Check(f.error.code >= 400 && f.error.code <= 500 && !f.error.message.empty(),
            "a bad patch is refused with a reason");
    }
  };
  refused([&] { return devcluster::ApplyJsonPatch(document, patch); });
  refused([&] { return devcluster::ApplyMergePatch(document, patch); });
  refused([&] {
    return devcluster::ApplyStrategicPatch(document, patch, [](std::string_view path) {
      devcluster::KindRegistry::ListKey key;
      if (path.ends_with("containers")) key.key = "name";
      return key;
    });
  });
}

std::vector<std::string> Seeds() {
  const std::string_view pod =
      R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b"}],"x":[1,2]},"m":{"k":"v"}})";
  return {
      Join(
          {pod,
           R"([{"op":"replace","path":"/spec/x/0","value":3},{"op":"move","from":"/m","path":"/n"},{"op":"test","path":"/m/k","value":"v"}])"}),
      Join(
          {pod,
           R"([{"op":"add","path":"/spec/x/-","value":{}},{"op":"copy","from":"/spec","path":"/a~1b~0"},{"op":"remove","path":"/m"}])"}),
      Join(
          {pod,
           R"({"spec":{"x":null,"containers":[{"name":"a","$patch":"delete"},{"name":"c"}],"$setElementOrder/containers":[{"name":"c"},{"name":"b"}]}})"}),
      Join(
          {pod,
           R"({"spec":{"$retainKeys":["x"],"$deleteFromPrimitiveList/x":[2]},"m":{"$patch":"replace"}})"})};
}

}  // namespace kcm::fuzz
