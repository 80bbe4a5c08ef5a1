// SPDX-License-Identifier: Apache-2.0
// FNV and its text form.
#include "kcm/rules/hash.h"

namespace kcm::rules {
namespace {
constexpr uint32_t kPrime = 16777619;
}  // namespace

uint32_t Fnv1(std::string_view bytes, uint32_t h) {
  for (const char c : bytes) h = (h * kPrime) ^ static_cast<unsigned char>(c);
  return h;
}

uint32_t Fnv1a(std::string_view bytes, uint32_t h) {
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * kPrime;
  return h;
}

std::string EncodeHash(uint32_t hash) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out = std::to_string(hash);
  for (char& c : out) c = kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return out;
}

}  // namespace kcm::rules
