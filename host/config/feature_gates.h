// SPDX-License-Identifier: Apache-2.0
// Feature gates as of the emulated release (spec/host.md 1.8).
//
//   FeatureGates gates = FeatureGates::Evaluate(flags.Pairs("feature-gates"), emulation.emulated,
//   &errors, &warnings); if (gates.Enabled("WatchListClient")) ...
//
// Every gate of the 1.28 to 1.36 managers is accepted, so that one --feature-gates fits all
// components; those that were removed on the way are accepted with a warning and mean nothing.
// Immutable and thread-safe once evaluated.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/version.h"

namespace kcm::host::config {

enum class Stage : uint8_t { kPreAlpha, kAlpha, kBeta, kGa, kDeprecated };
// Label stage of kubernetes_feature_enabled: "" for GA.
std::string_view StageLabel(Stage stage);

struct Gate {
  Stage stage = Stage::kPreAlpha;
  bool enabled = false;
  bool default_on = false;
  bool locked = false;
};

class FeatureGates {
 public:
  FeatureGates() = default;
  // `settings` are (name or component:name, value) as given, in order; later ones win. What is
  // wrong goes to `errors`, what is merely useless (a GA gate set to its value) to `warnings`.
  static FeatureGates Evaluate(const std::vector<std::pair<std::string, std::string>>& settings,
                               Minor emulated, std::vector<std::string>* errors,
                               std::vector<std::string>* warnings);

  // False for gates nobody knows: a vendor's plugin may ask for its own.
  bool Enabled(std::string_view name) const;
  bool Known(std::string_view name) const;
  // Sorted by name; gates that do not exist at the emulated release are left out.
  std::vector<std::pair<std::string, Gate>> All() const;
  // Changes from the default, sorted: what /statusz and logs show.
  std::vector<std::pair<std::string, bool>> Changed() const;

 private:
  std::map<std::string, Gate, std::less<>> gates_;
};

}  // namespace kcm::host::config
