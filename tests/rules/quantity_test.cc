// SPDX-License-Identifier: Apache-2.0
// Row numbers are those of spec/namespace.md S2.6.
#include "kcm/rules/quantity.h"

#include <gtest/gtest.h>

#include <limits>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

using F = QuantityFormat;

Quantity Q(std::string_view text) {
  Result<Quantity> q = Quantity::Parse(text);
  EXPECT_TRUE(q.ok()) << text;
  return q.ok() ? *q : Quantity();
}

std::string Computed(Quantity q) {
  q += Quantity();  // any arithmetic makes the text canonical
  return q.Text();
}

TEST(Quantity, ParsesAndPrints) {
  const struct {
    int row;
    const char* text;
    const char* echo;
    const char* canonical;
    F format;
  } rows[] = {
      {1, "0", "0", "0", F::kDecimalSI},
      {2, "00", "0", "0", F::kDecimalSI},
      {2, "0.0", "0", "0", F::kDecimalSI},
      {2, "-0", "0", "0", F::kDecimalSI},
      {3, "0Ki", "0", "0", F::kBinarySI},
      {4, "1", "1", "1", F::kDecimalSI},
      {5, "+5", "+5", "5", F::kDecimalSI},
      {6, "-5", "-5", "-5", F::kDecimalSI},
      {7, "007", "007", "7", F::kDecimalSI},
      {8, "1.5", "1500m", "1500m", F::kDecimalSI},
      {8, "1.50", "1500m", "1500m", F::kDecimalSI},
      {9, "1.500", "1.500", "1500m", F::kDecimalSI},
      {10, "1.123", "1.123", "1123m", F::kDecimalSI},
      {11, "0.5", "500m", "500m", F::kDecimalSI},
      {11, ".5", "500m", "500m", F::kDecimalSI},
      {11, "0.500", "500m", "500m", F::kDecimalSI},
      {12, "0.001", "1m", "1m", F::kDecimalSI},
      {13, "0.0001", "100u", "100u", F::kDecimalSI},
      {13, "0.1m", "100u", "100u", F::kDecimalSI},
      {14, "0.0000000001", "1n", "1n", F::kDecimalSI},
      {15, "3.001n", "4n", "4n", F::kDecimalSI},
      {16, "0.00000012345", "124n", "124n", F::kDecimalSI},
      {17, "1000u", "1m", "1m", F::kDecimalSI},
      {18, "1000m", "1", "1", F::kDecimalSI},
      {19, "1024m", "1024m", "1024m", F::kDecimalSI},
      {20, "1000", "1k", "1k", F::kDecimalSI},
      {21, "1500", "1500", "1500", F::kDecimalSI},
      {22, "100000", "100k", "100k", F::kDecimalSI},
      {23, "1234000", "1234k", "1234k", F::kDecimalSI},
      {24, "1024", "1024", "1024", F::kDecimalSI},
      {25, "1000M", "1G", "1G", F::kDecimalSI},
      {26, "2.50G", "2500M", "2500M", F::kDecimalSI},
      {27, "7.123456M", "7.123456M", "7123456", F::kDecimalSI},
      {28, "12E", "12E", "12E", F::kDecimalSI},
      {29, "1Ki", "1Ki", "1Ki", F::kBinarySI},
      {30, "1024Ki", "1Mi", "1Mi", F::kBinarySI},
      {31, "1023Ki", "1023Ki", "1023Ki", F::kBinarySI},
      {32, "1.5Ki", "1536", "1536", F::kBinarySI},
      {33, "1.5Gi", "1536Mi", "1536Mi", F::kBinarySI},
      {34, "0.5Mi", "512Ki", "512Ki", F::kBinarySI},
      {35, "0.5Ki", "512", "512", F::kBinarySI},
      {36, "1024Mi", "1Gi", "1Gi", F::kBinarySI},
      {37, "1000Mi", "1000Mi", "1000Mi", F::kBinarySI},
      {38, "2048Mi", "2Gi", "2Gi", F::kBinarySI},
      {39, "100.035Ki", "102435840m", "102435840m", F::kBinarySI},
      {40, ".001Ki", "1024m", "1024m", F::kBinarySI},
      {41, "0.0005Ki", "512m", "512m", F::kDecimalSI},
      {42, ".000000000001Ki", "2n", "2n", F::kDecimalSI},
      {43, "8Ei", "9223372036854775807", "9223372036854775807", F::kBinarySI},
      {43, "9Ei", "9223372036854775807", "9223372036854775807", F::kBinarySI},
      {44, "9223372036854775808", "9223372036854775808", "9223372036854775808", F::kDecimalSI},
      {45, "1e3", "1e3", "1e3", F::kDecimalExponent},
      {46, "1E3", "1E3", "1e3", F::kDecimalExponent},
      {47, "1E+6", "1E+6", "1e6", F::kDecimalExponent},
      {48, "1e2", "100", "100", F::kDecimalExponent},
      {49, "1e4", "10e3", "10e3", F::kDecimalExponent},
      {50, "1.2e3", "1200", "1200", F::kDecimalExponent},
      {51, "12000e3", "12e6", "12e6", F::kDecimalExponent},
      {52, "1e-10", "1e-9", "1e-9", F::kDecimalExponent},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string("row ") + std::to_string(row.row) + ": " + row.text);
    const Quantity q = Q(row.text);
    EXPECT_EQ(q.Text(), row.echo);
    EXPECT_EQ(q.Canonical(), row.canonical);
    EXPECT_EQ(Computed(q), row.canonical);
    EXPECT_EQ(q.format(), row.format);
    EXPECT_EQ(Q(q.Text()), q) << "the printed text has another value";
  }
}

TEST(Quantity, RefusesWithTheServersTexts) {
  constexpr char kFormat[] =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  constexpr char kSuffix[] = "unable to parse quantity's suffix";
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"1K", kSuffix},    {"1ki", kSuffix},
      {"1i", kSuffix},    {"1mi", kSuffix},
      {"1e", kSuffix},    {"1e-", kSuffix},
      {"1Em", kSuffix},   {"1m5", kSuffix},
      {"1e+-5", kFormat}, {"1e99999999999", kSuffix},
      {"", kFormat},      {"abc", kFormat},
      {" 1", kFormat},    {"1 ", kFormat},
      {"1.1.M", kFormat}, {"1_000", kFormat},
      {"1,5", kFormat},   {"--1", kSuffix},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const Result<Quantity> q = Quantity::Parse(row.text);
    ASSERT_FALSE(q.ok());
    EXPECT_EQ(q.error().message, row.want);
    EXPECT_EQ(q.code(), Code::kInvalid);
  }
}

TEST(Quantity, ReadsTextsWithoutDigitsAsZero) {
  for (const char* text : {".", "+", "-.", "m", "Ki", "-Ki"}) EXPECT_TRUE(Q(text).IsZero()) << text;
  EXPECT_EQ(Q("1."), Q("1"));
  EXPECT_EQ(Q("1.G"), Q("1G"));
}

TEST(Quantity, AddsAndSubtracts) {
  const struct {
    int row;
    const char* left;
    char op;
    const char* right;
    const char* want;
    F format;
  } rows[] = {
      {60, "0", '+', "1Gi", "1Gi", F::kBinarySI},
      {61, "1Gi", '+', "0", "1Gi", F::kBinarySI},
      {62, "0Ki", '+', "500m", "500m", F::kDecimalSI},
      {63, "500m", '+', "500m", "1", F::kDecimalSI},
      {64, "100m", '+', "1", "1100m", F::kDecimalSI},
      {65, "512Mi", '+', "512Mi", "1Gi", F::kBinarySI},
      {66, "900Mi", '+', "124Mi", "1Gi", F::kBinarySI},
      {67, "500Mi", '+', "500Ki", "512500Ki", F::kBinarySI},
      {68, "1Gi", '+', "1G", "2073741824", F::kBinarySI},
      {69, "1G", '+', "1Gi", "2073741824", F::kDecimalSI},
      {70, "1Gi", '+', "1", "1073741825", F::kBinarySI},
      {71, "1Ki", '+', "24", "1048", F::kBinarySI},
      {72, "1000", '+', "24", "1024", F::kDecimalSI},
      {73, "1Ki", '+', "1m", "1024001m", F::kBinarySI},
      {74, "1e3", '+', "1k", "2e3", F::kDecimalExponent},
      {75, "1k", '+', "1e3", "2k", F::kDecimalSI},
      {76, "1.500", '+', "0", "1500m", F::kDecimalSI},
      {77, "9223372036854775807", '+', "1", "9223372036854775808", F::kDecimalSI},
      {78, "1", '-', "1500m", "-500m", F::kDecimalSI},
      {79, "1Gi", '-', "24Mi", "1000Mi", F::kBinarySI},
      {80, "2Ki", '-', "1025", "1023", F::kBinarySI},
      {82, "0", '-', "1Gi", "-1Gi", F::kBinarySI},
      {0, "0Ki", '+', "0", "0", F::kDecimalSI},
      {0, "1", '-', "1", "0", F::kDecimalSI},
      {0, "-1", '-', "1", "-2", F::kDecimalSI},
      {0, "-3", '+', "5", "2", F::kDecimalSI},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.left) + " " + row.op + " " + row.right);
    const Quantity got = row.op == '+' ? Q(row.left) + Q(row.right) : Q(row.left) - Q(row.right);
    EXPECT_EQ(got.Text(), row.want);
    EXPECT_EQ(got.format(), row.format);
  }
  // Row 81.
  EXPECT_EQ((Quantity(2024, F::kBinarySI) - Q("1024")).Text(), "1k");
}

TEST(Quantity, SubtractsItself) {
  Quantity q = Q("1500m");
  q -= q;
  EXPECT_TRUE(q.IsZero());
  Quantity twice = Q("-2Gi");
  twice += twice;
  EXPECT_EQ(twice.Text(), "-4Gi");
}

TEST(Quantity, RoundsAwayFromZero) {
  const struct {
    const char* text;
    int scale;
    const char* want;
    bool exact;
  } rows[] = {
      {"1001m", 0, "2", false}, {"-9.01", 0, "-10", false},   {"5", 0, "5", true},
      {"1u", -3, "1m", false},  {"1.0001m", -3, "2m", false}, {"1e-10", -3, "1e-3", false},
      {"1", 3, "1k", false},    {"0", 3, "0", true},          {"2000", 3, "2k", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    Quantity q = Q(row.text);
    EXPECT_EQ(q.RoundUp(row.scale), row.exact);
    EXPECT_EQ(q.Text(), row.want);
  }
}

TEST(Quantity, ComparesByValueAlone) {
  EXPECT_EQ(Q("1Gi"), Q("1073741824"));
  EXPECT_EQ(Q("1e3"), Q("1k"));
  EXPECT_EQ(Q("1000m"), Q("1"));
  EXPECT_GT(Q("10000T"), Q("100Gi"));
  EXPECT_LT(Q("-2"), Q("-1"));
  EXPECT_LT(Q("-1"), Q("0"));
  EXPECT_EQ(Quantity(), Q("0Ki"));
  EXPECT_GT(Q("1e30"), Q("9Ei"));
}

TEST(Quantity, GivesIntegersRoundedUp) {
  EXPECT_EQ(Q("100m").Value(), 1);
  EXPECT_EQ(Q("-100m").Value(), -1);
  EXPECT_EQ(Q("1Gi").Value(), 1073741824);
  EXPECT_EQ(Q("100u").MilliValue(), 1);
  EXPECT_EQ(Q("1.5").MilliValue(), 1500);
  EXPECT_EQ(Q("1e30").Value(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Q("-1e30").Value(), std::numeric_limits<int64_t>::min());
  EXPECT_DOUBLE_EQ(Q("-1500m").ToDouble(), -1.5);
  EXPECT_EQ(Quantity(std::numeric_limits<int64_t>::min()).Text(), "-9223372036854775808");
  EXPECT_EQ(Quantity::Milli(1500).Text(), "1500m");
}

TEST(Quantity, PrintsTheExponentFormBeyondTheSuffixes) {
  EXPECT_EQ(Computed(Q("1000E")), "1e21");
  EXPECT_EQ(Q("1e21").Text(), "1e21");
  Quantity q = Q("4Ei");
  for (int i = 0; i < 8; ++i) q += q;  // 2^70
  EXPECT_EQ(Q(q.Text()), q);
}

TEST(Quantity, NegateKeepsTheFormat) {
  EXPECT_EQ((-Q("1Gi")).Text(), "-1Gi");
  EXPECT_EQ((-Q("-1500m")).Text(), "1500m");
  EXPECT_EQ((-Q("0")).Sign(), 0);
}

TEST(Quantity, ReadsJsonValues) {
  const struct {
    const char* json;
    const char* want;
  } rows[] = {{"null", "0"}, {"\"1Gi\"", "1Gi"}, {"\" 1Gi \"", "1Gi"},
              {"10", "10"},  {"-1", "-1"},       {"1.5", "1500m"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.json);
    const Result<Quantity> q = Quantity::Parse(Parsed(row.json).node());
    ASSERT_TRUE(q.ok());
    EXPECT_EQ(q->Text(), row.want);
  }
  EXPECT_FALSE(Quantity::Parse(Parsed("[]").node()).ok());
  EXPECT_FALSE(Quantity::Parse(Parsed("\"x\"").node()).ok());
  EXPECT_TRUE(Quantity::Of(Parsed("\"x\"").node()).IsZero());
}

}  // namespace
}  // namespace kcm::rules
