// SPDX-License-Identifier: Apache-2.0
// Quantity: an exact decimal number with the unit style it was written in (spec/namespace.md S2).
//
//   Result<Quantity> q = Quantity::Parse("1.5Gi");
//   q->Text() == "1536Mi";  (*q + *Quantity::Parse("512Mi")).Text() == "2Gi"
//
// Guarantees: arithmetic is exact at any size (no saturation, no floating point); a quantity that
// was only copied prints the text it came with where the API server would (S2.4); comparison is by
// value alone.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "kcm/rules/magnitude.h"
#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::rules {

enum class QuantityFormat : uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

// A value type; thread-safe as any value.
class Quantity {
 public:
  Quantity() = default;  // 0, DecimalSI
  explicit Quantity(int64_t value, QuantityFormat format = QuantityFormat::kDecimalSI);
  static Quantity Milli(int64_t milli, QuantityFormat format = QuantityFormat::kDecimalSI);

  // The grammar of S2.1 and the rules of S2.2; no blanks. Error kInvalid with the API server's
  // text. Exponents beyond
  // +-1000 are refused as a bad suffix (the reference accepts them and grows without bound).
  static Result<Quantity> Parse(std::string_view text);
  // The JSON form: a string (outer blanks allowed), a number; null and absent are 0.
  static Result<Quantity> Parse(Node node);
  // As above, 0 for anything that does not parse: what a controller reads from an object that the
  // server has validated.
  static Quantity Of(Node node);

  QuantityFormat format() const { return format_; }
  bool IsZero() const { return nanos_.IsZero(); }
  int Sign() const { return IsZero() ? 0 : negative_ ? -1 : 1; }

  // The text to write: the received one while nothing was computed (S2.4), else Canonical().
  std::string Text() const { return text_.empty() ? Canonical() : text_; }
  std::string Canonical() const;  // S2.3

  // Rounded up, away from zero, saturated to int64 (beyond it the reference is undefined: S2.5).
  int64_t Value() const;
  int64_t MilliValue() const;
  double ToDouble() const;

  // Result format: the right operand's when the left one is zero, else the left's (S2.5).
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity x, const Quantity& y) { return x += y; }
  friend Quantity operator-(Quantity x, const Quantity& y) { return x -= y; }
  Quantity operator-() const;

  // Up to the next multiple of 10^scale, away from zero; scale in [-9, 1000]. Returns whether it
  // was one already.
  bool RoundUp(int scale);

  friend std::strong_ordering operator<=>(const Quantity& x, const Quantity& y);
  friend bool operator==(const Quantity& x, const Quantity& y) { return (x <=> y) == 0; }

 private:
  void AddSigned(const Magnitude& magnitude, bool negative);
  std::string CanonicalDecimal(QuantityFormat style) const;

  Magnitude nanos_;
  bool negative_ = false;  // of zero: false
  QuantityFormat format_ = QuantityFormat::kDecimalSI;
  std::string text_;  // empty once computed
};

}  // namespace kcm::rules
