// SPDX-License-Identifier: Apache-2.0
// Reading quantities: S2.1 grammar, S2.2 value rules, S2.4 which text survives.
#include <algorithm>
#include <charconv>
#include <optional>

#include "kcm/rules/quantity.h"

namespace kcm::rules {
namespace {

constexpr int kMaxExponent = 1000;

struct Suffix {
  QuantityFormat format;
  int exponent;  // of 10, for BinarySI of 2
};

struct NamedSuffix {
  std::string_view name;
  Suffix suffix;
};
constexpr QuantityFormat kSI = QuantityFormat::kDecimalSI;
constexpr QuantityFormat kBin = QuantityFormat::kBinarySI;
constexpr NamedSuffix kSuffixes[] = {
    {"", {kSI, 0}},     {"n", {kSI, -9}},   {"u", {kSI, -6}},   {"m", {kSI, -3}},
    {"k", {kSI, 3}},    {"M", {kSI, 6}},    {"G", {kSI, 9}},    {"T", {kSI, 12}},
    {"P", {kSI, 15}},   {"E", {kSI, 18}},   {"Ki", {kBin, 10}}, {"Mi", {kBin, 20}},
    {"Gi", {kBin, 30}}, {"Ti", {kBin, 40}}, {"Pi", {kBin, 50}}, {"Ei", {kBin, 60}}};

// The pieces of a text; views into it.
struct Pieces {
  bool negative = false;
  std::string_view whole;     // leading zeros removed; "0" when nothing is left
  std::string_view fraction;  // as written
  std::string_view suffix;
};

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

std::string_view TakeWhile(std::string_view& s, bool (*in)(char)) {
  size_t n = 0;
  while (n < s.size() && in(s[n])) ++n;
  const std::string_view taken = s.substr(0, n);
  s.remove_prefix(n);
  return taken;
}

// nullopt: the text does not have the shape of a quantity.
std::optional<Pieces> Split(std::string_view s) {
  if (s.empty()) return std::nullopt;
  Pieces p;
  if (s.front() == '+' || s.front() == '-') {
    p.negative = s.front() == '-';
    s.remove_prefix(1);
  }
  p.whole = TakeWhile(s, IsDecimal);
  p.whole.remove_prefix(std::min(p.whole.find_first_not_of('0'), p.whole.size()));
  if (p.whole.empty()) p.whole = "0";
  if (!s.empty() && s.front() == '.') {
    s.remove_prefix(1);
    p.fraction = TakeWhile(s, IsDecimal);
  }
  p.suffix = s;
  TakeWhile(
      s, [](char c) { return std::string_view("eEinumkKMGTP").find(c) != std::string_view::npos; });
  if (!s.empty() && (s.front() == '+' || s.front() == '-')) s.remove_prefix(1);
  TakeWhile(s, IsDecimal);
  if (!s.empty()) return std::nullopt;
  return p;
}

std::optional<Suffix> Interpret(std::string_view text) {
  for (const NamedSuffix& s : kSuffixes) {
    if (s.name == text) return s.suffix;
  }
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
  text.remove_prefix(1);
  if (text.front() == '+' && text.size() > 1 && IsDecimal(text[1])) text.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
  return Suffix{QuantityFormat::kDecimalExponent, exponent};
}

// digits x 10^shift, rounded up (away from zero) to an integer: 10^-9 is the finest there is.
Magnitude Shifted(std::string digits, int shift) {
  if (shift >= 0) {
    digits.append(static_cast<size_t>(shift), '0');
    return Magnitude::FromDigits(digits);
  }
  const size_t drop = std::min(static_cast<size_t>(-shift), digits.size());
  const bool inexact = digits.find_last_not_of('0') != std::string::npos &&
                       digits.find_last_not_of('0') >= digits.size() - drop;
  digits.resize(digits.size() - drop);
  Magnitude m = Magnitude::FromDigits(digits);
  if (inexact) m.Add(Magnitude(1));
  return m;
}

// S2.4: whether the server writes this text back as it is.
bool Survives(const Pieces& p, const Suffix& suffix) {
  const int whole = static_cast<int>(std::min<size_t>(p.whole.size(), 100));
  const int fraction = static_cast<int>(std::min<size_t>(p.fraction.size(), 100));
  if (suffix.format == QuantityFormat::kBinarySI) {
    // Ki 11 digits, Mi 8, Gi 5, Ti 2; Pi and Ei never.
    const int most = 14 - suffix.exponent * 3 / 10;
    if (fraction > 0 || whole > most) return false;
    const auto last3 = p.whole.substr(p.whole.size() - std::min<size_t>(3, p.whole.size()));
    int tail = 0;
    std::from_chars(last3.data(), last3.data() + last3.size(), tail);
    return tail % 8 != 0;  // 1000 is a multiple of 8, so the last three digits decide
  }
  const int scale = suffix.exponent - fraction;
  if (whole + fraction > 18 || scale < -9 || scale % 3 != 0) return false;
  std::string digits(p.whole);
  digits += p.fraction;
  return digits.front() != '0' && !digits.ends_with("000");
}

Error FormatError() {
  return MakeError(Code::kInvalid,
                   "quantities must match the regular expression "
                   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

}  // namespace

Result<Quantity> Quantity::Parse(std::string_view text) {
  const std::optional<Pieces> pieces = Split(text);
  if (!pieces) return FormatError();
  const std::optional<Suffix> suffix = Interpret(pieces->suffix);
  if (!suffix) return MakeError(Code::kInvalid, "unable to parse quantity's suffix");

  std::string digits(pieces->whole);
  digits += pieces->fraction;
  const int fraction = static_cast<int>(std::min<size_t>(pieces->fraction.size(), 1 << 30));
  Quantity q;
  q.format_ = suffix->format;
  if (suffix->format == QuantityFormat::kBinarySI) {
    Magnitude scaled = Magnitude::FromDigits(digits);
    for (int e = 0; e < suffix->exponent; e += 10) scaled.Multiply(1024);
    q.nanos_ = Shifted(scaled.Digits(), 9 - fraction);
    const Magnitude cap = Magnitude::FromDigits("9223372036854775807000000000");
    if (q.nanos_ > cap) q.nanos_ = cap;
    // S2.2 rule 4.
    if (!q.IsZero() && q.nanos_ < Magnitude(1000000000)) q.format_ = QuantityFormat::kDecimalSI;
  } else {
    q.nanos_ = Shifted(std::move(digits), suffix->exponent - fraction + 9);
  }
  q.negative_ = pieces->negative && !q.IsZero();
  if (!q.IsZero() && Survives(*pieces, *suffix)) q.text_ = text;
  return q;
}

Result<Quantity> Quantity::Parse(Node node) {
  switch (node.kind()) {
    case Kind::kAbsent:
    case Kind::kNull:
      return Quantity();
    case Kind::kInt:
      return Parse(std::to_string(node.Int()));
    case Kind::kDouble: {
      char buffer[64];
      const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), node.Real());
      if (error != std::errc()) return FormatError();
      return Parse(std::string_view(buffer, static_cast<size_t>(end - buffer)));
    }
    case Kind::kString: {
      constexpr std::string_view kBlanks = " \t\r\n\v\f";
      std::string_view s = node.String();
      s.remove_prefix(std::min(s.find_first_not_of(kBlanks), s.size()));
      s = s.substr(0, s.find_last_not_of(kBlanks) + 1);
      return Parse(s);
    }
    default:
      return FormatError();
  }
}

Quantity Quantity::Of(Node node) {
  Result<Quantity> q = Parse(node);
  return q.ok() ? std::move(*q) : Quantity();
}

}  // namespace kcm::rules
