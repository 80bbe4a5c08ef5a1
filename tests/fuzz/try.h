// SPDX-License-Identifier: Apache-2.0
// A fuzz target is one file that defines Try and Seeds. Built with libFuzzer (preset fuzz) it runs
// for as long as one likes; in every other build rounds.cc runs a fixed number of repeatable
// mutations of the seeds as a test.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kcm::fuzz {

// Feeds one input to the code under test. Crashes, sanitizer reports, exceptions that leave it, and
// Check are the findings.
void Try(std::string_view input);
// Good inputs that mutation starts from.
std::vector<std::string> Seeds();

// Ends the process with `promise` when it is broken.
void Check(bool kept, const char* promise);
// `input` cut at its first `n - 1` NUL bytes; missing parts are empty.
std::vector<std::string_view> Parts(std::string_view input, size_t n);
// The same for seeds.
std::string Join(const std::vector<std::string_view>& parts);

}  // namespace kcm::fuzz
