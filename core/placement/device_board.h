#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels/cpu_kernels.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// The devices of a placement under way, arranged so that the cheapest one with room is found
/// without a look at all of them: the lowest cost of every block of devices is kept up to date, and
/// devices that cannot be chosen do not take part. They are the retired ones, and all empty ones
/// but the first: empty devices are alike, so the first one always wins over the others. If there
/// are rules, which tell devices apart, all empty ones take part.
class DeviceBoard {
 public:
  /// Borrows `kernels`.
  DeviceBoard(const CpuKernels& kernels, int devices);

  /// Empties all devices. With `rules`, which are borrowed and may be null, a device begins with
  /// its base load from now on. Costs in what follows are those that the models predict, without
  /// that and without speeds.
  void use(const PlacementRules* rules);
  /// Empties all devices.
  void clear();
  [[nodiscard]] std::size_t held_bytes() const;

  /// The choice of CpuKernels::choose_device among the devices that are not retired.
  [[nodiscard]] int choose(std::int64_t max_memory, std::int64_t max_dim_sum) const {
    if (blocks_ == 1) {
      return kernels_.choose_device(key_ms_.data(), memory_.data(), dim_sum_.data(), devices_,
                                    max_memory, max_dim_sum);
    }
    return choose_among_blocks(max_memory, max_dim_sum);
  }

  /// Chooses among the devices of set `set` of the rules.
  [[nodiscard]] int choose_from(std::size_t set, std::int64_t max_memory,
                                std::int64_t max_dim_sum) const;

  /// The better of device `a`, which may be -1 for none, and device `b`: the one that the choice
  /// falls on if both have room.
  [[nodiscard]] int better_of(int a, int b) const;

  /// A piece joins a device, which cannot be chosen until settle().
  void put(std::size_t device, std::int64_t size, std::int64_t dim);
  /// Its new cost. `retire`: it is not to be chosen until that piece is taken back.
  void settle(std::size_t device, float cost_ms, bool retire);
  /// Undoes the last put() that still stands. `cost_before_ms`: of the device, 0 if it was empty.
  void take_back(std::size_t device, std::int64_t size, std::int64_t dim, float cost_before_ms,
                 bool was_empty);
  /// Must follow take_back() before the next choice.
  void refresh_blocks();

  /// Compute costs as predicted, 0 for an empty device.
  [[nodiscard]] std::span<const float> cost_ms() const { return cost_ms_; }
  [[nodiscard]] std::span<const std::int64_t> memory() const { return {memory_.data(), count()}; }
  [[nodiscard]] std::span<const std::int64_t> dim_sums() const {
    return {dim_sum_.data(), count()};
  }

 private:
  static constexpr int kBlock = 32;
  static constexpr float kNever = __builtin_inff();

  /// The value by which a device that costs `cost_ms` is chosen.
  [[nodiscard]] float key_of(std::size_t device, float cost_ms) const {
    return rules_ == nullptr ? cost_ms : rules_->compute.compute_ms(device, cost_ms);
  }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(devices_); }
  [[nodiscard]] int choose_among_blocks(std::int64_t max_memory, std::int64_t max_dim_sum) const;
  void set_key(std::size_t device, float key_ms) {
    key_ms_[device] = key_ms;
    if (blocks_ > 1) refresh_block(device / kBlock);
  }
  void refresh_block(std::size_t block);

  const CpuKernels& kernels_;
  int devices_;
  int blocks_;
  const PlacementRules* rules_ = nullptr;
  /// [sets of the rules, padded devices]: 0, or infinite if the device is not in the set.
  std::vector<float> bar_ms_;
  mutable std::vector<float> allowed_key_ms_;  ///< Scratch of choose_from(), padded.
  std::vector<float> cost_ms_;
  // Padded to whole blocks.
  std::vector<float> key_ms_;  ///< The cost of a device that can be chosen, else infinite.
  std::vector<std::int64_t> memory_;
  std::vector<std::int64_t> dim_sum_;
  std::vector<float> lowest_ms_;          ///< Lowest cost of each block; padded.
  mutable std::vector<float> unseen_ms_;  ///< Scratch of choose_among_blocks().
  std::size_t filled_ = 0;  ///< Without rules: devices that are not empty, the first ones.
};

}  // namespace neuroshard
