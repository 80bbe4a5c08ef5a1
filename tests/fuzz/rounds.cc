// SPDX-License-Identifier: Apache-2.0
// ROUNDS repeatable mutations of a target's seeds; or, given files, those inputs only (a finding of
// libFuzzer again).
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz/try.h"

namespace {

std::string current;  // the input of this round

// Leaves the input of a finding where it can be given to this program again.
void KeepInput(int signal) {
  static constexpr char kFile[] = "fuzz-finding";
  if (FILE* file = std::fopen(kFile, "wb"); file != nullptr) {
    (void)std::fwrite(current.data(), 1, current.size(), file);
    (void)std::fclose(file);
    std::fprintf(stderr, "the input is in %s\n", kFile);
  }
  (void)std::signal(signal, SIG_DFL);
  (void)raise(signal);
}

void TryKept(std::string input) {
  current = std::move(input);
  kcm::fuzz::Try(current);
}

std::string Mutated(std::string text, const std::vector<std::string>& seeds, std::mt19937& dice) {
  static constexpr std::string_view kPieces[] = {
      "\"",  "{",    "}",    "[",
      "]",   "(",    ")",    ",",
      ":",   "-",    "0",    "9223372036854775808",
      "%",   "/",    "=",    "!",
      "*",   "null", "\xff", "\xed\xa0\x80",
      "\\u", "\0",   "\n",   "1e999",
  };
  const auto below = [&dice](size_t n) {
    return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(dice);
  };
  for (size_t left = 1 + below(6); left > 0; --left) {
    const size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.erase(at, 1 + below(8));
        break;
      case 3:  // a piece of itself again
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 4: {  // a piece of another seed
        const std::string& other = seeds[below(seeds.size())];
        text.insert(at, other.substr(below(other.size() + 1), below(40)));
        break;
      }
      default:
        text.resize(at);
    }
    if (text.size() > 4096) text.resize(4096);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s ROUNDS | FILE...\n", argv[0]);
    return 2;
  }
  char* end = nullptr;
  const long rounds = std::strtol(argv[1], &end, 10);
  if (*end != '\0') {
    for (int i = 1; i < argc; ++i) {
      std::ifstream file(argv[i], std::ios::binary);
      const std::string input((std::istreambuf_iterator<char>(file)), {});
      if (!file) {
        std::fprintf(stderr, "can not read %s\n", argv[i]);
        return 2;
      }
      kcm::fuzz::Try(input);
    }
    return 0;
  }
  const std::vector<std::string> seeds = kcm::fuzz::Seeds();
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) (void)std::signal(signal, KeepInput);
  for (const std::string& seed : seeds) TryKept(seed);
  std::mt19937 dice(1);
  for (long i = 0; i < rounds; ++i) {
    TryKept(Mutated(seeds[static_cast<size_t>(i) % seeds.size()], seeds, dice));
  }
  return 0;
}
