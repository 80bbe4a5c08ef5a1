// SPDX-License-Identifier: Apache-2.0
// The resources of a fresh server: one row each (spec B1), in discovery order (spec A3).
#pragma once
#include <span>
#include <string_view>

#include "devcluster/api/strategy.h"
#include "devcluster/kinds/names.h"

namespace kcm::devcluster::kinds {

// Groups that several files name.
inline constexpr char kRbacGroup[] = "rbac.authorization.k8s.io";
inline constexpr char kAdmissionGroup[] = "admissionregistration.k8s.io";

// What makes metadata.generation move (spec C5).
enum class Generation : uint8_t {
  kNone,        // absent; a given one survives
  kOne,         // 1, never moves
  kSpec,        // spec
  kDeployment,  // spec or annotations
  kTemplate,    // the member `template`
  kContent,     // anything but metadata
};

struct KindRow {
  std::string_view group, version, resource, kind;
  std::string_view message;                       // of the schema
  std::string_view shorts = {}, categories = {};  // blank separated
  std::string_view subresources = {};             // names, blank separated
  NameRule names = NameRule::kSubdomain;
  Generation generation = Generation::kNone;
  std::string_view empty_status = {};  // JSON; "": the kind has no status that is reset
  bool cluster = false;
  bool create_on_update = false, requires_version = false, returns_object = false, orphan = false;
  bool no_dependents = false, create_only = false, read_only = false, no_collection_delete = false;
};

std::span<const KindRow> KindRows();
// The words of a blank separated list.
std::vector<std::string> Words(std::string_view text);
std::vector<std::string> GroupsInOrder();
// Everything of a ResourceKind that is plain data.
ResourceKind DescribeKind(const KindRow& row);

}  // namespace kcm::devcluster::kinds
