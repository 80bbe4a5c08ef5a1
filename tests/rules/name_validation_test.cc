// SPDX-License-Identifier: Apache-2.0
// Texts are those of a real server (recorded, c-02 and c-03).
#include "kcm/rules/name_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcm::rules {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr char kSubdomain[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr char kLabel[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

TEST(NameValidation, Subdomains) {
  for (const std::string& good :
       {std::string("a"), std::string("a.b-c.0"), std::string(253, 'a')}) {
    EXPECT_THAT(ValidateDns1123Subdomain(good), IsEmpty()) << good;
  }
  for (const char* bad : {"", "Bad_Name", "a..b", "-a", "a-", "a.", ".a", "a b", "\xC3\xA4"}) {
    EXPECT_THAT(ValidateDns1123Subdomain(bad), ElementsAre(kSubdomain)) << bad;
  }
  EXPECT_THAT(ValidateDns1123Subdomain(std::string(254, 'a')),
              ElementsAre("must be no more than 253 characters"));
}

TEST(NameValidation, Labels) {
  EXPECT_THAT(ValidateDns1123Label("0a-b"), IsEmpty());
  EXPECT_THAT(ValidateDns1123Label("a.b"), ElementsAre("must not contain dots"));
  EXPECT_THAT(ValidateDns1123Label("C"), ElementsAre(kLabel));
  EXPECT_THAT(ValidateDns1123Label(std::string(64, 'a')),
              ElementsAre("must be no more than 63 characters"));
  EXPECT_THAT(ValidateDns1035Label("a-0"), IsEmpty());
  EXPECT_THAT(ValidateDns1035Label("0a"), ElementsAre(StartsWith("a DNS-1035 label must")));
}

TEST(NameValidation, PathSegments) {
  EXPECT_THAT(ValidatePathSegment("system:node"), IsEmpty());
  EXPECT_THAT(ValidatePathSegment("Has:Colon/x"), ElementsAre("may not contain '/'"));
  EXPECT_THAT(ValidatePathSegment(".."), ElementsAre("may not be '..'"));
  EXPECT_THAT(ValidatePathSegment("a/%"),
              ElementsAre("may not contain '/'", "may not contain '%'"));
}

TEST(NameValidation, QualifiedNames) {
  for (const char* good : {"a", "A_b.c-1", "example.com/x", "kubernetes.io/metadata.name"}) {
    EXPECT_THAT(ValidateQualifiedName(good), IsEmpty()) << good;
  }
  constexpr char kName[] =
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
      "with an alphanumeric "
      "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  EXPECT_THAT(ValidateQualifiedName("bad key"), ElementsAre(kName));
  EXPECT_THAT(ValidateQualifiedName(""), ElementsAre("name part must be non-empty", kName));
  EXPECT_THAT(ValidateQualifiedName("/a"), ElementsAre("prefix part must be non-empty"));
  EXPECT_THAT(ValidateQualifiedName("A/a"),
              ElementsAre(StartsWith("prefix part a lowercase RFC 1123 subdomain")));
  EXPECT_THAT(ValidateQualifiedName("a/b/c"),
              ElementsAre(StartsWith("a qualified name must consist")));
  EXPECT_THAT(ValidateQualifiedName("x/" + std::string(64, 'a')),
              ElementsAre("name part must be no more than 63 characters"));
}

TEST(NameValidation, LabelValues) {
  for (const char* good : {"", "a", "A_b.c", "1"}) EXPECT_THAT(ValidateLabelValue(good), IsEmpty());
  EXPECT_THAT(
      ValidateLabelValue("bad value!"),
      ElementsAre(
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
          "or '.', "
          "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
          "or "
          "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"));
  EXPECT_EQ(ValidateLabelValue(std::string(64, '-')).size(), 2u);
}

TEST(NameValidation, ConfigMapKeys) {
  EXPECT_THAT(ValidateConfigMapKey("a.B_c-1"), IsEmpty());
  EXPECT_THAT(
      ValidateConfigMapKey("a b"),
      ElementsAre(
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
          "'key.name',  "
          "or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"));
  EXPECT_THAT(ValidateConfigMapKey(".."), ElementsAre("must not be '..'"));
  EXPECT_THAT(ValidateConfigMapKey("..a"), ElementsAre("must not start with '..'"));
}

TEST(NameValidation, GenerateNameMayEndInADash) {
  EXPECT_THAT(ValidateDns1123Subdomain(MaskTrailingDash("web-")), IsEmpty());
  EXPECT_THAT(ValidateDns1123Subdomain(MaskTrailingDash("Bad_")), ElementsAre(kSubdomain));
  EXPECT_EQ(MaskTrailingDash("-"), "-");
}

}  // namespace
}  // namespace kcm::rules
