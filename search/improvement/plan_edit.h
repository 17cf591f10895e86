#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/placement/annealing_rules.h"
#include "search/layout.h"

namespace neuroshard {

/// A change to a complete plan: slices of one or two devices go, and slices that hold the same
/// columns come, on the same devices.
class PlanEdit {
 public:
  static constexpr std::size_t kMostRemoved = annealing::kMostRemoved;
  static constexpr std::size_t kMostAdded = annealing::kMostAdded;

  PlanEdit() = default;
  /// `a` and `b` may be one device.
  PlanEdit(std::uint32_t a, std::uint32_t b) : devices_{a, b} {}

  void remove(std::uint32_t slice) { removed_[removed_count_++] = slice; }
  void add(const PlacedSlice& slice) { added_[added_count_++] = slice; }
  void drop_added(std::size_t index) { added_[index] = added_[--added_count_]; }

  [[nodiscard]] std::uint32_t device(std::size_t which) const { return devices_[which]; }
  [[nodiscard]] bool one_device() const { return devices_[0] == devices_[1]; }
  /// Slices by their numbers in the plan.
  [[nodiscard]] std::span<const std::uint32_t> removed() const {
    return std::span(removed_).first(removed_count_);
  }
  [[nodiscard]] std::span<const PlacedSlice> added() const {
    return std::span(added_).first(added_count_);
  }
  [[nodiscard]] PlacedSlice& added(std::size_t index) { return added_[index]; }

 private:
  std::array<std::uint32_t, 2> devices_{};
  std::array<std::uint32_t, kMostRemoved> removed_{};
  std::array<PlacedSlice, kMostAdded> added_{};
  std::size_t removed_count_ = 0;
  std::size_t added_count_ = 0;
};

}  // namespace neuroshard
