// SPDX-License-Identifier: Apache-2.0
// Tokens of CEL.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/kinds/cel_value.h"

namespace kcm::devcluster::kinds::cel {

struct Token {
  enum class Kind : uint8_t { kEnd, kName, kLiteral, kSymbol } kind = Kind::kEnd;
  size_t offset = 0;
  std::string text;  // of a name or symbol
  Value value;       // of a literal: int, uint, double, string, bytes
};

// All tokens, the last one is kEnd. False: `*why` and `*offset` say what is wrong and where.
bool Tokenize(std::string_view text, std::vector<Token>* tokens, std::string* why, size_t* offset);

}  // namespace kcm::devcluster::kinds::cel
