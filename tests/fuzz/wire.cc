// SPDX-License-Identifier: Apache-2.0
// Every decoder of host/wire, as FuzzDecode describes them.
#include "fuzz/try.h"
#include "host/wire/fuzz_decode.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  Check(host::wire::testing::FuzzDecode(input).empty(), "decoders agree with encoders");
}

std::vector<std::string> Seeds() {
  const std::string pod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},)"
      R"("spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}})";
  const std::string list =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[)" + pod +
      "]}";
  const std::string event = R"({"type":"ADDED","object":)" + pod + "}\n";
  using namespace std::string_view_literals;
  const std::string pod_message(
      "\x0a\x05\x0a\x01p\x12\x00\x12\x07\x12\x05\x0a\x01"
      "c\x12\x00"sv);
  const std::string envelope(std::string("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x10"sv) +
                             pod_message);
  return {'\1' + pod,     '\3' + list,     '\x0b' + list,     '\5' + event,
          '\x0d' + event, '\0' + envelope, '\6' + pod_message};
}

}  // namespace kcm::fuzz
