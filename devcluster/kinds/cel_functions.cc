// SPDX-License-Identifier: Apache-2.0
// Look-up of functions (cel_functions.h).
#include "devcluster/kinds/cel_functions.h"

namespace kcm::devcluster::kinds::cel {

const Function* FindFunction(std::string_view name, bool method) {
  for (const std::span<const Function> group :
       {TextFunctions(), ListFunctions(), ConversionFunctions()}) {
    for (const Function& f : group) {
      if (f.name == name && f.method == method) return &f;
    }
  }
  return nullptr;
}

Value NoOverload() { return Value::Fail("no such overload"); }
Value Overflow(const char* type) { return Value::Fail(std::string(type) + " overflow"); }

}  // namespace kcm::devcluster::kinds::cel
