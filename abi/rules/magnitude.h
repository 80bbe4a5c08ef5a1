// SPDX-License-Identifier: Apache-2.0
// Magnitude: a non-negative integer of any length in base 10^9, the number inside a Quantity (as
// nanos). Decimal limbs make parsing and printing linear; the only other factors a quantity needs
// are powers of 1024.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kcm::rules {

// A value type; copies are deep. Thread-safe as any value.
class Magnitude {
 public:
  Magnitude() = default;  // 0
  explicit Magnitude(uint64_t value);
  // REQUIRES: `digits` holds only 0-9. Empty is 0.
  static Magnitude FromDigits(std::string_view digits);

  bool IsZero() const { return limbs_.empty(); }
  std::string Digits() const;  // no leading zeros; "0" for 0
  // The value as uint64_t, or UINT64_MAX when it does not fit.
  uint64_t ToUint64() const;
  double ToDouble() const;

  void Add(const Magnitude& other);
  void Subtract(const Magnitude& other);  // REQUIRES: *this >= other
  void Multiply(uint32_t factor);         // REQUIRES: factor < 10^9
  uint32_t Divide(uint32_t divisor);      // returns the remainder. REQUIRES: 0 < divisor < 10^9

  friend std::strong_ordering operator<=>(const Magnitude& x, const Magnitude& y);
  friend bool operator==(const Magnitude& x, const Magnitude& y) = default;

 private:
  void Trim();

  std::vector<uint32_t> limbs_;  // least significant first, no zero limb at the end
};

}  // namespace kcm::rules
