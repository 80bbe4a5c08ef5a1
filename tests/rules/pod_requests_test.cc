// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/pod_requests.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

// A container that requests `requests`, JSON text.
std::string Asking(const std::string& requests, const std::string& more = "") {
  return R"({"resources":{"requests":)" + requests + "}" + more + "}";
}
std::string Cpu(const std::string& cpu) { return R"({"cpu":")" + cpu + R"("})"; }
std::string List(const char* name, const std::string& items) {
  return "\"" + std::string(name) + "\":[" + items + "]";
}
const std::string kAlways = R"(,"restartPolicy":"Always")";

TEST(PodRequests, ContainersInitContainersPodLevelAndOverhead) {
  const std::string both = R"({"cpu":"1","memory":"1Gi"})";
  const struct {
    const char* name;
    std::string spec;  // its members
    std::string want;
  } rows[] = {
      {"nothing", "", "{}"},
      {"containers add up", List("containers", Asking(Cpu("1")) + "," + Asking(both)),
       R"({"cpu":"2","memory":"1Gi"})"},
      {"the peak of init containers",
       List("containers", Asking(Cpu("1")) + "," + Asking(Cpu("2"))) + "," +
           List("initContainers", Asking(Cpu("4")) + "," + Asking(Cpu("1"))),
       Cpu("4")},
      {"a sidecar runs beside containers and later init containers",
       List("containers", Asking(Cpu("2"))) + "," +
           List("initContainers", Asking(Cpu("1"), kAlways) + "," + Asking(Cpu("3"))),
       Cpu("4")},
      {"a sidecar after an init container does not run beside it",
       List("containers", Asking(Cpu("1"))) + "," +
           List("initContainers", Asking(Cpu("3")) + "," + Asking(Cpu("1"), kAlways)),
       Cpu("3")},
      {"the pod level replaces, per resource",
       List("containers", Asking(both)) +
           R"(,"resources":{"requests":{"memory":"3Gi","example.com/gpu":"9"}})",
       R"({"cpu":"1","memory":"3Gi"})"},
      {"overhead comes on top",
       List("containers", Asking(Cpu("1"))) + R"(,"overhead":{"cpu":"100m","memory":"1Mi"})",
       R"({"cpu":"1100m","memory":"1Mi"})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Parsed pod("{\"spec\":{" + row.spec + "}}");
    const ResourceList got = PodRequests(pod);
    EXPECT_TRUE(SameResources(got, ResourceListOf(Parsed(row.want)))) << ResourceListJson(got);
  }
}

TEST(HasPodLevelRequests, OnlyOfWhatAPodMayHold) {
  const struct {
    std::string requests;
    bool want;
  } rows[] = {{"null", false},
              {"{}", false},
              {Cpu("1"), true},
              {R"({"memory":"1Gi"})", true},
              {R"({"hugepages-2Mi":"4Mi"})", true},
              {R"({"ephemeral-storage":"1Gi"})", false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.requests);
    const Parsed pod(R"({"spec":{"resources":{"requests":)" + row.requests + "}}}");
    EXPECT_EQ(HasPodLevelRequests(pod), row.want);
  }
}

}  // namespace
}  // namespace kcm::rules
