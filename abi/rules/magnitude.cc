// SPDX-License-Identifier: Apache-2.0
// Integers in base 10^9.
#include "kcm/rules/magnitude.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace kcm::rules {
namespace {
constexpr uint32_t kBase = 1000000000;
constexpr size_t kLimbDigits = 9;
}  // namespace

Magnitude::Magnitude(uint64_t value) {
  for (; value != 0; value /= kBase) limbs_.push_back(static_cast<uint32_t>(value % kBase));
}

Magnitude Magnitude::FromDigits(std::string_view digits) {
  Magnitude m;
  m.limbs_.reserve(digits.size() / kLimbDigits + 1);
  while (!digits.empty()) {
    const size_t n = std::min(digits.size(), kLimbDigits);
    uint32_t limb = 0;
    for (const char c : digits.substr(digits.size() - n)) {
      limb = limb * 10 + static_cast<uint32_t>(c - '0');
    }
    m.limbs_.push_back(limb);
    digits.remove_suffix(n);
  }
  m.Trim();
  return m;
}

std::string Magnitude::Digits() const {
  if (limbs_.empty()) return "0";
  std::string out = std::to_string(limbs_.back());
  for (size_t i = limbs_.size() - 1; i-- > 0;) {
    char limb[16];
    std::snprintf(limb, sizeof(limb), "%09u", limbs_[i]);
    out += limb;
  }
  return out;
}

uint64_t Magnitude::ToUint64() const {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  uint64_t value = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    if (value > (kMax - limbs_[i]) / kBase) return kMax;
    value = value * kBase + limbs_[i];
  }
  return value;
}

double Magnitude::ToDouble() const {
  double value = 0;
  for (size_t i = limbs_.size(); i-- > 0;) value = value * kBase + limbs_[i];
  return value;
}

void Magnitude::Add(const Magnitude& other) {
  if (limbs_.size() < other.limbs_.size()) limbs_.resize(other.limbs_.size(), 0);
  uint32_t carry = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    const uint32_t sum = limbs_[i] + carry + (i < other.limbs_.size() ? other.limbs_[i] : 0);
    carry = sum >= kBase ? 1 : 0;
    limbs_[i] = carry != 0 ? sum - kBase : sum;
  }
  if (carry != 0) limbs_.push_back(carry);
}

void Magnitude::Subtract(const Magnitude& other) {
  uint32_t borrow = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    const uint32_t take = borrow + (i < other.limbs_.size() ? other.limbs_[i] : 0);
    borrow = limbs_[i] < take ? 1 : 0;
    limbs_[i] = borrow != 0 ? limbs_[i] + kBase - take : limbs_[i] - take;
  }
  Trim();
}

void Magnitude::Multiply(uint32_t factor) {
  uint64_t carry = 0;
  for (uint32_t& limb : limbs_) {
    const uint64_t product = uint64_t{limb} * factor + carry;
    limb = static_cast<uint32_t>(product % kBase);
    carry = product / kBase;
  }
  if (carry != 0) limbs_.push_back(static_cast<uint32_t>(carry));
  Trim();
}

uint32_t Magnitude::Divide(uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    const uint64_t value = rest * kBase + limbs_[i];
    limbs_[i] = static_cast<uint32_t>(value / divisor);
    rest = value % divisor;
  }
  Trim();
  return static_cast<uint32_t>(rest);
}

void Magnitude::Trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
}

std::strong_ordering operator<=>(const Magnitude& x, const Magnitude& y) {
  if (x.limbs_.size() != y.limbs_.size()) return x.limbs_.size() <=> y.limbs_.size();
  for (size_t i = x.limbs_.size(); i-- > 0;) {
    if (x.limbs_[i] != y.limbs_[i]) return x.limbs_[i] <=> y.limbs_[i];
  }
  return std::strong_ordering::equal;
}

}  // namespace kcm::rules
