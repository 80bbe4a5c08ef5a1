// SPDX-License-Identifier: Apache-2.0
// Label and field selectors in their text form.
#include "fuzz/try.h"
#include "kcm/rules/field_selector.h"
#include "kcm/rules/label_selector.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  if (const auto labels = rules::LabelSelector::Parse(input); labels.ok()) {
    const auto again = rules::LabelSelector::Parse(labels->Text());
    Check(again.ok() && *again == *labels, "the text of a label selector is the same selector");
    (void)labels->MatchesWith([](std::string_view key) {
      return key.size() % 2 == 0 ? std::nullopt : std::optional<std::string_view>("5");
    });
  } else {
    Check(labels.code() == Code::kInvalid && !labels.error().message.empty(), "an error says why");
  }
  if (const auto fields = rules::FieldSelector::Parse(input); fields.ok()) {
    const auto again = rules::FieldSelector::Parse(fields->Text());
    Check(again.ok() && again->requirements().size() == fields->requirements().size(),
          "the text of a field selector is a selector");  // terms may change places
    const auto third = rules::FieldSelector::Parse(again->Text());
    Check(third.ok() && third->Text() == again->Text(), "sorted terms stay where they are");
  } else {
    Check(!fields.error().message.empty(), "an error says why");
  }
}

std::vector<std::string> Seeds() {
  return {"app=web,tier in (fe,be),!legacy",        "a.b/c notin (x,),d", "n>5,m<-1", "x!=y,z==",
          "metadata.name=p1,status.phase!=Running", R"(spec.x=a\,b\=c\\)"};
}

}  // namespace kcm::fuzz
