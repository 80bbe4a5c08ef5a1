// SPDX-License-Identifier: Apache-2.0
// Arithmetic and canonical text of quantities (S2.3, S2.5).
#include "kcm/rules/quantity.h"

#include <algorithm>
#include <limits>

namespace kcm::rules {
namespace {

constexpr uint32_t kNano = 1000000000;

uint64_t Unsigned(int64_t v) {
  return v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}

int64_t Saturated(const Magnitude& m, bool negative) {
  constexpr uint64_t kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const uint64_t v = m.ToUint64();
  if (negative) {
    return v > kMax ? std::numeric_limits<int64_t>::min() : -static_cast<int64_t>(v);
  }
  return v > kMax ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(v);
}

// m / divisor rounded up.
Magnitude DividedUp(Magnitude m, uint32_t divisor) {
  if (m.Divide(divisor) != 0) m.Add(Magnitude(1));
  return m;
}

}  // namespace

Quantity::Quantity(int64_t value, QuantityFormat format)
    : nanos_(Unsigned(value)), negative_(value < 0), format_(format) {
  nanos_.Multiply(kNano / 10);
  nanos_.Multiply(10);
}

Quantity Quantity::Milli(int64_t milli, QuantityFormat format) {
  Quantity q;
  q.nanos_ = Magnitude(Unsigned(milli));
  q.nanos_.Multiply(kNano / 1000);
  q.negative_ = milli < 0;
  q.format_ = format;
  return q;
}

std::string Quantity::CanonicalDecimal(QuantityFormat style) const {
  std::string digits = nanos_.Digits();
  // The largest exponent, a multiple of three, that leaves an integer. Digits count from 10^-9.
  int exponent = -9;
  while (digits.size() > 3 && digits.ends_with("000")) {
    digits.resize(digits.size() - 3);
    exponent += 3;
  }
  if (negative_) digits.insert(0, 1, '-');
  constexpr std::string_view kNames[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  // Beyond E the table ends: the exponent form says it right (S2.3, last item).
  if (style == QuantityFormat::kDecimalSI && exponent <= 18) {
    return digits += kNames[static_cast<size_t>((exponent + 9) / 3)];
  }
  return exponent == 0 ? digits : digits + "e" + std::to_string(exponent);
}

std::string Quantity::Canonical() const {
  if (IsZero()) return "0";
  if (format_ != QuantityFormat::kBinarySI) return CanonicalDecimal(format_);
  Magnitude whole = nanos_;
  const bool integer = whole.Divide(kNano / 10) == 0 && whole.Divide(10) == 0;
  if (!integer || whole < Magnitude(1024)) return CanonicalDecimal(QuantityFormat::kDecimalSI);
  constexpr std::string_view kNames[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  size_t steps = 0;
  for (Magnitude next = whole; next.Divide(1024) == 0; whole = next, ++steps) {
    // 2^70 has no suffix: the exponent form says it right (S2.3, last item).
    if (steps + 1 == std::size(kNames)) return CanonicalDecimal(QuantityFormat::kDecimalExponent);
  }
  std::string out = negative_ ? "-" : "";
  out += whole.Digits();
  return out += kNames[steps];
}

int64_t Quantity::Value() const {
  Magnitude m = nanos_;
  const bool low = m.Divide(kNano / 10) != 0;
  const bool high = m.Divide(10) != 0;
  if (low || high) m.Add(Magnitude(1));
  return Saturated(m, negative_);
}

int64_t Quantity::MilliValue() const {
  return Saturated(DividedUp(nanos_, kNano / 1000), negative_);
}

double Quantity::ToDouble() const {
  const double magnitude = nanos_.ToDouble() / kNano;
  return negative_ ? -magnitude : magnitude;
}

void Quantity::AddSigned(const Magnitude& magnitude, bool negative) {
  if (negative_ == negative) {
    nanos_.Add(magnitude);
  } else if (nanos_ >= magnitude) {
    nanos_.Subtract(magnitude);
  } else {
    Magnitude larger = magnitude;
    larger.Subtract(nanos_);
    nanos_ = std::move(larger);
    negative_ = negative;
  }
  if (nanos_.IsZero()) negative_ = false;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (IsZero()) format_ = other.format_;
  text_.clear();
  AddSigned(Magnitude(other.nanos_), other.negative_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (IsZero()) format_ = other.format_;
  text_.clear();
  AddSigned(Magnitude(other.nanos_), !other.negative_);
  return *this;
}

Quantity Quantity::operator-() const {
  Quantity q = *this;
  q.text_.clear();
  q.negative_ = !negative_ && !IsZero();
  return q;
}

bool Quantity::RoundUp(int scale) {
  text_.clear();
  if (IsZero()) return true;
  std::string digits = nanos_.Digits();
  const size_t drop = static_cast<size_t>(std::clamp(scale, -9, 1000) + 9);
  const size_t zeros = digits.size() - 1 - digits.find_last_not_of('0');
  if (zeros >= drop) return true;
  digits.resize(digits.size() - std::min(drop, digits.size()));
  Magnitude kept = Magnitude::FromDigits(digits);
  kept.Add(Magnitude(1));
  nanos_ = Magnitude::FromDigits(kept.Digits() + std::string(drop, '0'));
  return false;
}

std::strong_ordering operator<=>(const Quantity& x, const Quantity& y) {
  if (x.negative_ != y.negative_) {
    return x.negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return x.negative_ ? y.nanos_ <=> x.nanos_ : x.nanos_ <=> y.nanos_;
}

}  // namespace kcm::rules
