// SPDX-License-Identifier: Apache-2.0
// Expressions of policies and schemas: compiled, and run on one object.
#include "devcluster/kinds/cel.h"

#include <nlohmann/json.hpp>

#include "fuzz/try.h"

namespace kcm::fuzz {

void Try(std::string_view input) {
  using namespace devcluster::kinds::cel;
  static const devcluster::Json object = devcluster::Json::parse(
      R"({"a":1,"b":[1,2.5,"x"],"c":{"d":"e","f":null},"t":"2024-05-01T10:00:00Z","q":"1Gi"})");
  const auto program = Program::Compile(std::string(input), {"object"});
  if (!program.ok()) {
    Check(program.code() == Code::kInvalid && !program.error().message.empty(),
          "an error says why");
    return;
  }
  Budget budget(20'000);
  const Value v = program->Run({{"object", Value::OfJson(object)}}, budget);
  if (v.failed()) Check(!v.text().empty(), "a failure says why");
}

std::vector<std::string> Seeds() {
  return {
      "object.a <= 5 && !(object.b[2] == 'x') ? true : has(object.c.d)",
      "object.b.all(x, x != 1) || object.b.exists_one(y, string(y).matches('^[a-z]+'))",
      "timestamp(object.t) + duration('1h') > timestamp('2024-01-01T00:00:00Z')",
      "quantity(object.q).isGreaterThan(quantity('1M')) || object.?z.orValue('k') == 'k'",
      "object.b.map(x, [x, {'k': x}]).filter(y, size(y) > 1).size() % 3 == 9223372036854775807",
      "'a,b'.split(',').join('-').replace('a', '\\u00e9').substring(0, 1).upperAscii() + r'\\d'"};
}

}  // namespace kcm::fuzz
