// SPDX-License-Identifier: Apache-2.0
// A repeatable run of the fuzzer: recordings, changed a little, through every decoder.
#include "host/wire/fuzz_decode.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "host/wire/codec.h"
#include "host/wire/samples.h"

namespace kcm::host::wire {
namespace {

constexpr int kRounds = 6000;

class Random {
 public:
  // xorshift: the same numbers in every run.
  size_t Below(size_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return n == 0 ? 0 : state_ % n;
  }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15u;
};

struct Seed {
  char choice;  // of decoder; portions are set per round
  std::string bytes;
};

std::vector<Seed> MakeSeeds() {
  std::vector<Seed> seeds;
  std::string list, json_list, frames, json_frames;
  BeginProtobufList("5", "c", 7, &list);
  for (const testing::Sample& sample : testing::LoadSamples()) {
    seeds.push_back({0, sample.protobuf});
    seeds.push_back({1, sample.json});
    if (sample.resource.ends_with("customresourcedefinitions"))
      seeds.push_back({6, sample.protobuf.substr(60)});
    if (json_list.size() > 20000) continue;
    json_list += (json_list.empty() ? "{\"kind\":\"List\",\"items\":[" : ",") + sample.json;
    json_frames += "{\"type\":\"ADDED\",\"object\":" + sample.json + "}\n";
    TypeMeta type;
    const auto object = DecodeEnvelope(sample.protobuf, {}, &type);
    std::string raw;
    (void)EncodeProtobuf(MessageFor(type.api_version, type.kind), (*object)->Root(), &raw).ok();
    EncodeProtobufWatchFrame("MODIFIED", type, raw, &frames);
    AppendProtobufListItem(raw, &list);
  }
  std::string enveloped;
  WrapEnvelope({"v1", "PodList"}, list, &enveloped);
  seeds.push_back({2, enveloped});
  seeds.push_back({3, json_list + "]}"});
  seeds.push_back({4, frames});
  seeds.push_back({5, json_frames});
  return seeds;
}

void Change(Random* random, const std::string& other, std::string* bytes) {
  const size_t at = random->Below(bytes->size() + 1);
  switch (random->Below(7)) {
    case 0:
      bytes->resize(at);
      return;
    case 1:
      if (at < bytes->size()) (*bytes)[at] = static_cast<char>(random->Below(256));
      return;
    case 2:
      if (at < bytes->size())
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << random->Below(8)));
      return;
    case 3:
      bytes->insert(at, random->Below(12), '\xFF');
      return;
    case 4:
      bytes->erase(at, random->Below(16));
      return;
    case 5:
      bytes->insert(at, other.substr(random->Below(other.size()), random->Below(64)));
      return;
    default:
      bytes->insert(at, bytes->substr(random->Below(bytes->size() + 1), random->Below(200)));
      return;
  }
}

TEST(FuzzDecode, MutatedRecordingsNeverBreakADecoder) {
  const std::vector<Seed> seeds = MakeSeeds();
  Random random;
  for (const Seed& seed : seeds) ASSERT_EQ(testing::FuzzDecode(seed.choice + seed.bytes), "");
  for (int round = 0; round < kRounds; ++round) {
    const Seed& seed = seeds[random.Below(seeds.size())];
    std::string bytes = seed.bytes;
    for (size_t changes = 1 + random.Below(4); changes > 0; --changes) {
      Change(&random, seeds[random.Below(seeds.size())].bytes, &bytes);
    }
    const char choice = static_cast<char>(seed.choice | static_cast<char>(random.Below(32) << 3));
    ASSERT_EQ(testing::FuzzDecode(choice + bytes), "") << "round " << round;
  }
}

}  // namespace
}  // namespace kcm::host::wire
