// SPDX-License-Identifier: Apache-2.0
// Functions on lists, maps, optional values and quantities.
#include <optional>

#include "devcluster/kinds/cel_functions.h"

namespace kcm::devcluster::kinds::cel {

namespace {

using Type = Value::Type;
using Args = std::span<const Value>;

Value Size(Args args, Budget& budget) {
  const Value& v = args[0];
  if (v.Is(Type::kList) || v.Is(Type::kMap)) return Value::Int(static_cast<int64_t>(v.size()));
  if (v.Is(Type::kBytes)) return Value::Int(static_cast<int64_t>(v.text().size()));
  if (!v.Is(Type::kString)) return NoOverload();
  if (!budget.Spend(v.text().size() / 10)) return Budget::Exceeded();
  int64_t runes = 0;
  for (const char c : v.text()) runes += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return Value::Int(runes);
}

// The extreme item of a list; `sign` -1: the smallest.
Value Extreme(Args args, Budget& budget, int sign, const char* name) {
  if (!args[0].Is(Type::kList)) return NoOverload();
  const size_t n = args[0].size();
  if (n == 0) return Value::Fail(std::string(name) + " called on empty list");
  if (!budget.Spend(n)) return Budget::Exceeded();
  Value best = args[0].At(0);
  for (size_t i = 1; i < n; ++i) {
    const Value v = args[0].At(i);
    const std::optional<int> order = Compare(v, best);
    if (!order) return NoOverload();
    if (*order * sign > 0) best = v;
  }
  return best;
}

Value IsSorted(Args args, Budget& budget) {
  if (!args[0].Is(Type::kList)) return NoOverload();
  if (!budget.Spend(args[0].size())) return Budget::Exceeded();
  for (size_t i = 1; i < args[0].size(); ++i) {
    const std::optional<int> order = Compare(args[0].At(i - 1), args[0].At(i));
    if (!order) return NoOverload();
    if (*order > 0) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value Sum(Args args, Budget& budget) {
  if (!args[0].Is(Type::kList)) return NoOverload();
  if (!budget.Spend(args[0].size())) return Budget::Exceeded();
  int64_t whole = 0;
  double real = 0;
  bool is_real = false;
  for (size_t i = 0; i < args[0].size(); ++i) {
    const Value v = args[0].At(i);
    if (v.Is(Type::kDouble)) {
      is_real = true;
      real += v.real();
    } else if (v.Is(Type::kInt)) {
      if (__builtin_add_overflow(whole, v.whole(), &whole)) return Overflow("integer");
    } else {
      return NoOverload();
    }
  }
  return is_real ? Value::Double(real + static_cast<double>(whole)) : Value::Int(whole);
}

// ---- optional values ----

Value None(Args, Budget&) { return Value::None(); }
Value Of(Args args, Budget&) { return Value::Some(args[0]); }

bool IsZero(const Value& v) {
  switch (v.type()) {
    case Type::kNull:
      return true;
    case Type::kBool:
      return !v.truth();
    case Type::kInt:
    case Type::kDuration:
      return v.whole() == 0;
    case Type::kUint:
      return v.natural() == 0;
    case Type::kDouble:
      return v.real() == 0;
    case Type::kString:
    case Type::kBytes:
      return v.text().empty();
    case Type::kList:
    case Type::kMap:
      return v.size() == 0;
    default:
      return false;
  }
}

Value OfNonZero(Args args, Budget&) {
  return IsZero(args[0]) ? Value::None() : Value::Some(args[0]);
}
Value HasValue(Args args, Budget&) {
  return args[0].Is(Type::kOptional) ? Value::Bool(args[0].held().has_value()) : NoOverload();
}
Value Held(Args args, Budget&) {
  if (!args[0].Is(Type::kOptional)) return NoOverload();
  const std::optional<Value> v = args[0].held();
  return v ? *v : Value::Fail("optional.none() dereference");
}
Value OrValue(Args args, Budget&) {
  if (!args[0].Is(Type::kOptional)) return NoOverload();
  const std::optional<Value> v = args[0].held();
  return v ? *v : args[1];
}
Value Or(Args args, Budget&) {
  if (!args[0].Is(Type::kOptional) || !args[1].Is(Type::kOptional)) return NoOverload();
  return args[0].held() ? args[0] : args[1];
}

// ---- quantities ----

std::optional<rules::Quantity> QuantityIn(const Value& v) {
  if (v.Is(Type::kQuantity)) return v.quantity();
  return std::nullopt;
}

Value ToQuantity(Args args, Budget&) {
  if (!args[0].Is(Type::kString)) return NoOverload();
  const Result<rules::Quantity> q = rules::Quantity::Parse(args[0].text());
  return q.ok() ? Value::Of(*q) : Value::Fail(q.error().message);
}
Value IsQuantity(Args args, Budget&) {
  return args[0].Is(Type::kString) ? Value::Bool(rules::Quantity::Parse(args[0].text()).ok())
                                   : NoOverload();
}

// The two quantities of a comparison or sum; a whole number counts as one on the right.
template <class Use>
Value Two(Args args, Use use) {
  const std::optional<rules::Quantity> a = QuantityIn(args[0]);
  const std::optional<rules::Quantity> b = args[1].Is(Type::kInt)
                                               ? std::optional(rules::Quantity(args[1].whole()))
                                               : QuantityIn(args[1]);
  return a && b ? use(*a, *b) : NoOverload();
}

Value CompareTo(Args args, Budget&) {
  return Two(args, [](const auto& a, const auto& b) {
    return Value::Int(a < b ? -1 : a == b ? 0 : 1);
  });
}
Value IsGreater(Args args, Budget&) {
  return Two(args, [](const auto& a, const auto& b) { return Value::Bool(a > b); });
}
Value IsLess(Args args, Budget&) {
  return Two(args, [](const auto& a, const auto& b) { return Value::Bool(a < b); });
}
Value Add(Args args, Budget&) {
  return Two(args, [](const auto& a, const auto& b) { return Value::Of(a + b); });
}
Value Subtract(Args args, Budget&) {
  return Two(args, [](const auto& a, const auto& b) { return Value::Of(a - b); });
}
Value Sign(Args args, Budget&) {
  const std::optional<rules::Quantity> q = QuantityIn(args[0]);
  return q ? Value::Int(q->Sign()) : NoOverload();
}
bool IsWhole(const rules::Quantity& q) { return rules::Quantity(q.Value()) == q; }
Value IsInteger(Args args, Budget&) {
  const std::optional<rules::Quantity> q = QuantityIn(args[0]);
  return q ? Value::Bool(IsWhole(*q)) : NoOverload();
}
Value AsInteger(Args args, Budget&) {
  const std::optional<rules::Quantity> q = QuantityIn(args[0]);
  if (!q) return NoOverload();
  return IsWhole(*q) ? Value::Int(q->Value()) : Value::Fail("cannot convert value to integer");
}
Value AsFloat(Args args, Budget&) {
  const std::optional<rules::Quantity> q = QuantityIn(args[0]);
  return q ? Value::Double(q->ToDouble()) : NoOverload();
}

}  // namespace

std::span<const Function> ListFunctions() {
  static constexpr Function kFunctions[] = {
      {"size", false, 1, 1, Type::kInt, Size},
      {"size", true, 1, 1, Type::kInt, Size},
      {"min", true, 1, 1, std::nullopt,
       [](Args args, Budget& b) { return Extreme(args, b, -1, "min"); }},
      {"max", true, 1, 1, std::nullopt,
       [](Args args, Budget& b) { return Extreme(args, b, 1, "max"); }},
      {"sum", true, 1, 1, std::nullopt, Sum},
      {"isSorted", true, 1, 1, Type::kBool, IsSorted},
      {"optional.none", false, 0, 0, Type::kOptional, None},
      {"optional.of", false, 1, 1, Type::kOptional, Of},
      {"optional.ofNonZeroValue", false, 1, 1, Type::kOptional, OfNonZero},
      {"hasValue", true, 1, 1, Type::kBool, HasValue},
      {"value", true, 1, 1, std::nullopt, Held},
      {"orValue", true, 2, 2, std::nullopt, OrValue},
      {"or", true, 2, 2, Type::kOptional, Or},
      {"quantity", false, 1, 1, Type::kQuantity, ToQuantity},
      {"isQuantity", false, 1, 1, Type::kBool, IsQuantity},
      {"compareTo", true, 2, 2, Type::kInt, CompareTo},
      {"isGreaterThan", true, 2, 2, Type::kBool, IsGreater},
      {"isLessThan", true, 2, 2, Type::kBool, IsLess},
      {"add", true, 2, 2, Type::kQuantity, Add},
      {"sub", true, 2, 2, Type::kQuantity, Subtract},
      {"sign", true, 1, 1, Type::kInt, Sign},
      {"isInteger", true, 1, 1, Type::kBool, IsInteger},
      {"asInteger", true, 1, 1, Type::kInt, AsInteger},
      {"asApproximateFloat", true, 1, 1, Type::kDouble, AsFloat},
  };
  return kFunctions;
}

}  // namespace kcm::devcluster::kinds::cel
