// SPDX-License-Identifier: Apache-2.0
// libFuzzer's way in. KCM_FUZZ_SEEDS=DIR: the seeds are written there first, for a corpus.
#include <cstdlib>
#include <fstream>

#include "fuzz/try.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* dir = std::getenv("KCM_FUZZ_SEEDS");
  if (dir == nullptr) return 0;
  int i = 0;
  for (const std::string& seed : kcm::fuzz::Seeds())
    std::ofstream(std::string(dir) + "/seed-" + std::to_string(i++), std::ios::binary) << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  kcm::fuzz::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
