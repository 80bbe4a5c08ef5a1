// SPDX-License-Identifier: Apache-2.0
// Recorded pairs of protobuf and JSON of the same stored objects (a real kube-apiserver 1.36.2).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kcm::host::wire::testing {

struct Sample {
  std::string resource;
  std::string protobuf;  // with envelope
  std::string json;
};
std::vector<Sample> LoadSamples();

// JSON objects of all kinds that a real server answered.
std::vector<std::string> LoadApiObjects();
// Bodies that a real kubectl 1.36 sent, enveloped.
struct Body {
  std::string request;
  std::string protobuf;
};
std::vector<Body> LoadKubectlBodies();

std::string DecodeBase64(std::string_view text);
// Parsed values are equal. On difference appends a readable account of the first one.
bool SameJson(std::string_view got, std::string_view want, std::string* difference);
// The document without kind and apiVersion of objects inside it, which protobuf does not carry.
std::string WithoutInnerTypes(std::string_view json);
std::string ReadFile(const std::string& name);  // below testdata

}  // namespace kcm::host::wire::testing
