// SPDX-License-Identifier: Apache-2.0
// Names, label keys and label values: what the API server accepts, with its texts
// (spec/apiserver.md C7, namespace.md S3.5).
//
//   for (const std::string& problem : ValidateDns1123Subdomain(name)) ...   // empty: legal
//
// Every function returns the messages in the server's order, without field or value.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kcm::rules {

using Problems = std::vector<std::string>;

// Most object names: <= 253, lower case labels separated by dots.
Problems ValidateDns1123Subdomain(std::string_view value);
// Namespace, Service, StatefulSet, container names: <= 63, no dots.
Problems ValidateDns1123Label(std::string_view value);
// Service names before 1.36: as above, beginning with a letter.
Problems ValidateDns1035Label(std::string_view value);
// RBAC names: anything but `.`, `..` and texts with `/` or `%`.
Problems ValidatePathSegment(std::string_view value);
// Label and annotation keys, finalizers' shape: [prefix/]name.
Problems ValidateQualifiedName(std::string_view value);
// Empty or <= 63 of [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?.
Problems ValidateLabelValue(std::string_view value);
// Keys of ConfigMap and Secret data: <= 253 of [-._a-zA-Z0-9], not `.`, `..` nor beginning with
// `..`.
Problems ValidateConfigMapKey(std::string_view value);

// generateName checked as a prefix: with one dash at its end taken as a letter, because characters
// follow it.
std::string MaskTrailingDash(std::string_view generate_name);

// "a; b": how several problems of one value are shown inside one message.
std::string JoinProblems(const Problems& problems);

}  // namespace kcm::rules
