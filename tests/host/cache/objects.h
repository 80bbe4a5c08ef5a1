// SPDX-License-Identifier: Apache-2.0
// Small pods for tests of the cache.
#pragma once
#include <string>

#include "host/wire/codec.h"

namespace kcm::test {

inline std::string PodJson(const std::string& ns, const std::string& name, uint64_t version,
                           const std::string& node = "", const std::string& controller = "",
                           bool type = false) {
  std::string out =
      type ? R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" : R"({"metadata":{"name":")";
  out += name + "\",\"uid\":\"u-" + name + "\"";
  if (!ns.empty()) out += R"(,"namespace":")" + ns + "\"";
  if (version > 0) out += R"(,"resourceVersion":")" + std::to_string(version) + "\"";
  out += R"(,"labels":{"app":"web"})";
  if (!controller.empty()) {
    out += R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":")" +
           controller + R"(","controller":true}])";
  }
  out += R"(},"spec":{"containers":[{"name":"c","image":"i"}])";
  if (!node.empty()) out += R"(,"nodeName":")" + node + "\"";
  return out + "}}";
}

inline host::wire::ObjectPtr Pod(const std::string& ns, const std::string& name, uint64_t version,
                                 const std::string& node = "", const std::string& controller = "") {
  return host::wire::FromJsonOrDie(PodJson(ns, name, version, node, controller));
}

}  // namespace kcm::test
