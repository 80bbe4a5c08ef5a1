// SPDX-License-Identifier: Apache-2.0
// Dictionary and Interner.
#include "host/wire/interner.h"

#include <algorithm>
#include <cstring>

#include "host/wire/static_strings.h"

namespace kcm::host::wire {
namespace {
constexpr size_t kFirstSlots = 1024;
// Texts of a few thousand objects: one that comes back within them is noticed.
constexpr size_t kSeen = 16384;
constexpr size_t kArenaBlock = 8192;
}  // namespace

void Dictionary::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

uint32_t Dictionary::Add(std::string_view text) {
  const uint32_t id = size_++;
  if (id % kChunk == 0) {
    chunks_[id / kChunk] = std::make_unique<Text[]>(kChunk);
    bytes_ += kChunk * sizeof(Text);
  }
  if (free_ < text.size()) {
    arena_.push_back(std::make_unique<char[]>(kArenaBlock));
    free_ = kArenaBlock;
    bytes_ += kArenaBlock;
  }
  char* to = arena_.back().get() + (kArenaBlock - free_);
  (void)text.copy(to, text.size());
  free_ -= text.size();
  chunks_[id / kChunk][id % kChunk] = {to, static_cast<uint32_t>(text.size())};
  return id;
}

Interner::Interner() : current_(new Dictionary), slots_(kFirstSlots, 0), seen_(kSeen, 0) {}

Interner::~Interner() { current_->Unref(); }

Interner::Stats Interner::stats() const {
  const std::lock_guard lock(mutex_);
  return {current_->size(),
          current_->bytes_ + slots_.size() * sizeof slots_[0] + seen_.size() * sizeof seen_[0],
          dictionaries_};
}

Dictionary* Interner::Current() {
  if (current_->size() < Dictionary::kChunk * Dictionary::kChunks) return current_;
  current_->Unref();
  current_ = new Dictionary;
  ++dictionaries_;
  slots_.assign(kFirstSlots, 0);
  seen_.assign(kSeen, 0);
  return current_;
}

bool Interner::Find(std::string_view text, uint64_t hash, uint32_t* id) {
  size_t i = hash & (slots_.size() - 1);
  for (; slots_[i] != 0; i = (i + 1) & (slots_.size() - 1)) {
    *id = slots_[i] - 1u;
    if (current_->At(*id) == text) return true;
  }
  if (text.size() < kMinText || text.size() > kMaxText) return false;
  if (current_->size() == Dictionary::kChunk * Dictionary::kChunks) return false;
  uint32_t& seen = seen_[(hash >> 20) & (seen_.size() - 1)];
  const uint32_t mark = static_cast<uint32_t>(hash) | 1u;
  if (seen != mark) {
    seen = mark;
    return false;
  }
  *id = current_->Add(text);
  slots_[i] = static_cast<uint16_t>(*id + 1);
  if (current_->size() * 2 > slots_.size()) Grow();
  return true;
}

void Interner::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (uint32_t id = 0; id < current_->size(); ++id) {
    size_t i = HashText(current_->At(id)) & (slots_.size() - 1);
    while (slots_[i] != 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = static_cast<uint16_t>(id + 1);
  }
}

}  // namespace kcm::host::wire
