// SPDX-License-Identifier: Apache-2.0
// Hashes whose texts appear in names and labels (spec/pod-workloads.md 1.14).
//
//   EncodeHash(Fnv1(revision_data)) == "847f967f88"
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kcm::rules {

// FNV-1, 32 bits: multiply, then XOR. `h`: the hash so far, to continue over several pieces.
uint32_t Fnv1(std::string_view bytes, uint32_t h = 2166136261u);
// FNV-1a, 32 bits: XOR, then multiply.
uint32_t Fnv1a(std::string_view bytes, uint32_t h = 2166136261u);

// The decimal digits of `hash` in an alphabet without vowels: 1 to 10 characters, safe in names.
std::string EncodeHash(uint32_t hash);

}  // namespace kcm::rules
