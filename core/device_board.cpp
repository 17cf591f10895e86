#include "core/device_board.h"

#include <algorithm>
#include <cmath>

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
  clear();
}

void DeviceBoard::clear(const PlacementRules* rules) {
  rules_ = rules;
  std::fill(cost_ms_.begin(), cost_ms_.end(), 0.0F);
  std::fill(key_ms_.begin(), key_ms_.end(), kNever);
  std::fill(memory_.begin(), memory_.end(), 0);
  std::fill(dim_sum_.begin(), dim_sum_.end(), 0);
  std::fill(lowest_ms_.begin(), lowest_ms_.end(), kNever);
  filled_ = 0;
  if (rules == nullptr) return set_key(0, 0.0F);
  std::copy(rules->base_bytes.begin(), rules->base_bytes.end(), memory_.begin());
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

int DeviceBoard::choose_from(const std::vector<bool>& set, std::int64_t max_memory,
                             std::int64_t max_dim_sum) const {
  int best = -1;
  for (std::size_t device = 0; device < count(); ++device) {
    if (!set[device] || memory_[device] > max_memory || dim_sum_[device] > max_dim_sum) continue;
    best = better_of(best, static_cast<int>(device));
  }
  return best;
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

}  // namespace neuroshard
