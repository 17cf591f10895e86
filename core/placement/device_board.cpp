#include "core/placement/device_board.h"

#include <algorithm>
#include <cmath>

#include "core/base/heap_bytes.h"

namespace neuroshard {

DeviceBoard::DeviceBoard(const CpuKernels& kernels, int devices)
    : kernels_(kernels), devices_(devices), blocks_((devices + kBlock - 1) / kBlock) {
  const auto padded = static_cast<std::size_t>(blocks_) * kBlock;
  cost_ms_.resize(count());
  key_ms_.resize(padded);
  memory_.resize(padded);
  dim_sum_.resize(padded);
  lowest_ms_.resize(static_cast<std::size_t>(padded_width(blocks_)));
  unseen_ms_.resize(lowest_ms_.size());
  allowed_key_ms_.resize(padded);
  clear();
}

void DeviceBoard::use(const PlacementRules* rules) {
  rules_ = rules;
  bar_ms_.clear();
  if (rules_ != nullptr) {
    const std::size_t padded = key_ms_.size();
    bar_ms_.assign(rules_->sets.size() * padded, kNever);
    for (std::size_t set = 0; set < rules_->sets.size(); ++set) {
      for (std::size_t device = 0; device < count(); ++device) {
        if (rules_->sets[set][device]) bar_ms_[set * padded + device] = 0.0F;
      }
    }
  }
  clear();
}

void DeviceBoard::clear() {
  std::fill(cost_ms_.begin(), cost_ms_.end(), 0.0F);
  std::fill(key_ms_.begin(), key_ms_.end(), kNever);
  std::fill(memory_.begin(), memory_.end(), 0);
  std::fill(dim_sum_.begin(), dim_sum_.end(), 0);
  std::fill(lowest_ms_.begin(), lowest_ms_.end(), kNever);
  filled_ = 0;
  if (rules_ == nullptr) return set_key(0, 0.0F);
  std::copy(rules_->base_bytes.begin(), rules_->base_bytes.end(), memory_.begin());
  for (std::size_t device = 0; device < count(); ++device) key_ms_[device] = key_of(device, 0.0F);
  refresh_blocks();
}

void DeviceBoard::refresh_block(std::size_t block) {
  const float* keys = key_ms_.data() + block * kBlock;
  const int lowest = kernels_.index_of_lowest(keys, kBlock);
  lowest_ms_[block] = lowest < 0 ? kNever : keys[lowest];
}

void DeviceBoard::refresh_blocks() {
  if (blocks_ == 1) return;
  for (int block = 0; block < blocks_; ++block) refresh_block(static_cast<std::size_t>(block));
}

// Blocks by their lowest cost, until no other block can hold a better device. The lowest cost may
// be that of a device without room, so more than one block may have to be looked at.
int DeviceBoard::choose_among_blocks(std::int64_t max_memory, std::int64_t max_dim_sum) const {
  const int width = static_cast<int>(lowest_ms_.size());
  std::copy(lowest_ms_.begin(), lowest_ms_.end(), unseen_ms_.begin());
  int best = -1;
  for (;;) {
    const int block = kernels_.index_of_lowest(unseen_ms_.data(), width);
    if (block < 0 || (best >= 0 && unseen_ms_[block] > key_ms_[best])) return best;
    unseen_ms_[block] = kNever;
    const int first = block * kBlock;
    const int found =
        kernels_.choose_device(key_ms_.data() + first, memory_.data() + first,
                               dim_sum_.data() + first, kBlock, max_memory, max_dim_sum);
    if (found < 0) continue;
    const int device = first + found;
    best = better_of(best, device);
  }
}

int DeviceBoard::choose_from(std::size_t set, std::int64_t max_memory,
                             std::int64_t max_dim_sum) const {
  const std::size_t padded = key_ms_.size();
  const float* const bar_ms = bar_ms_.data() + set * padded;
  for (std::size_t d = 0; d < padded; ++d) allowed_key_ms_[d] = key_ms_[d] + bar_ms[d];
  return kernels_.choose_device(allowed_key_ms_.data(), memory_.data(), dim_sum_.data(), devices_,
                                max_memory, max_dim_sum);
}

int DeviceBoard::better_of(int a, int b) const {
  if (!(std::abs(key_ms_[b]) < kNever)) return a;
  if (a < 0 || key_ms_[b] < key_ms_[a]) return b;
  if (key_ms_[a] < key_ms_[b]) return a;
  if (memory_[a] != memory_[b]) return memory_[a] < memory_[b] ? a : b;
  return std::min(a, b);
}

void DeviceBoard::put(std::size_t device, std::int64_t size, std::int64_t dim) {
  memory_[device] += size;
  dim_sum_[device] += dim;
  set_key(device, kNever);
  if (rules_ == nullptr && device == filled_ && ++filled_ < count()) set_key(filled_, 0.0F);
}

void DeviceBoard::settle(std::size_t device, float cost_ms, bool retire) {
  cost_ms_[device] = cost_ms;
  if (!retire) set_key(device, key_of(device, cost_ms));
}

void DeviceBoard::take_back(std::size_t device, std::int64_t size, std::int64_t dim,
                            float cost_before_ms, bool was_empty) {
  cost_ms_[device] = cost_before_ms;
  memory_[device] -= size;
  dim_sum_[device] -= dim;
  key_ms_[device] = key_of(device, cost_before_ms);
  if (!was_empty || rules_ != nullptr) return;
  if (filled_ < count()) key_ms_[filled_] = kNever;
  filled_ = device;
}

std::size_t DeviceBoard::held_bytes() const {
  return heap_bytes(cost_ms_) + heap_bytes(key_ms_) + heap_bytes(memory_) + heap_bytes(dim_sum_) +
         heap_bytes(lowest_ms_) + heap_bytes(unseen_ms_) + heap_bytes(bar_ms_) +
         heap_bytes(allowed_key_ms_);
}

}  // namespace neuroshard
