// SPDX-License-Identifier: Apache-2.0
// Content negotiation (spec/apiserver A1.6, A1.7).
#pragma once
#include <string>
#include <string_view>

namespace kcm::devcluster {

struct Media {
  enum class Encoding { kJson, kYaml, kProtobuf };
  enum class As { kObject, kPartial, kPartialList, kTable, kDiscovery };
  Encoding encoding = Encoding::kJson;
  As as = As::kObject;
  std::string version = "v1";  // of the `as` type
  bool pretty = false;

  bool protobuf() const { return encoding == Encoding::kProtobuf; }
  // Content-Type of an answer in this form.
  std::string ContentType() const;
  std::string WatchContentType() const;
};

// What one request may be answered with.
struct Offer {
  bool protobuf = true;
  bool table = true;
  bool partial = true;
  bool discovery = false;
  bool yaml = true;
};

// The first acceptable alternative by q, then position. Throws Failure 406.
Media Negotiate(std::string_view accept, const Offer& offer);

enum class BodyType { kJson, kYaml, kProtobuf, kOther };
// Type of a request body; `media_type` gets the bare lower-case type.
BodyType BodyTypeOf(std::string_view content_type, std::string* media_type);

}  // namespace kcm::devcluster
