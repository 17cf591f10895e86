#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/gap/device_totals.h"
#include "core/placement/cpu_backend.h"
#include "core/plans/id_exchange.h"
#include "neuroshard/plan.h"

namespace neuroshard::bench {

/// A plan that can be changed slice by slice, with its exact predicted cost. Shares the cost models
/// with the planner and nothing of its search, so that it can judge it.
///
/// Of a table only the widths of its slices count, not which columns they hold: slices of one
/// table and width are alike, and any two of them can be merged.
class SliceBoard {
 public:
  struct Slice {
    std::uint32_t table = 0;
    std::uint32_t level = 0;  ///< How often the table's width was halved.
    std::uint32_t device = 0;
  };

  /// Takes one or two slices away and puts one or two others in their place.
  struct Change {
    std::array<std::uint32_t, 2> removed{};  ///< Indices of slices.
    std::array<Slice, 2> added{};
    std::size_t removals = 0;
    std::size_t additions = 0;
  };

  /// `plan` is valid and fits memory. Borrows `backend` and `task`.
  SliceBoard(const CpuBackend& backend, const Task& task, const Plan& plan);

  [[nodiscard]] std::uint32_t devices() const { return static_cast<std::uint32_t>(shards_.size()); }
  [[nodiscard]] std::span<const Slice> slices() const { return slices_; }
  /// Indices of the slices on a device.
  [[nodiscard]] std::span<const std::uint32_t> shard(std::uint32_t device) const {
    return shards_[device].slices;
  }
  /// Indices of the slices of the same table and width, `slice` among them.
  [[nodiscard]] std::span<const std::uint32_t> alike(const Slice& slice) const {
    return alike_[piece_of(slice)];
  }
  [[nodiscard]] bool can_halve(const Slice& slice) const {
    return slice.level + 1 < levels_[slice.table];
  }
  [[nodiscard]] int dim(const Slice& slice) const { return dims_[piece_of(slice)]; }
  [[nodiscard]] float dim_sum(std::uint32_t device) const { return dim_sums_[device]; }
  [[nodiscard]] float compute_ms(std::uint32_t device) const { return compute_ms_[device]; }
  /// Compute, backward and forward.
  [[nodiscard]] double total_ms(std::uint32_t device) const { return total_ms_[device]; }
  /// The highest total, and what ids cost.
  [[nodiscard]] double cost_ms() const { return cost_ms_; }

  /// Whether `change` leaves all devices within memory and the cost at most at `limit_ms`. The
  /// board stays as it is.
  [[nodiscard]] bool try_change(const Change& change, double limit_ms);
  /// The cost after the change tried last, which was within the limit.
  [[nodiscard]] double tried_cost_ms() const { return tried_cost_ms_; }
  /// Makes that change.
  void make_change(const Change& change);

  [[nodiscard]] Plan plan() const;

 private:
  struct Shard {
    std::vector<std::uint32_t> slices;  ///< Their order is that of the sums.
    std::int64_t memory_bytes = 0;
  };

  [[nodiscard]] std::uint32_t piece_of(const Slice& slice) const {
    return first_piece_[slice.table] + slice.level;
  }
  void place(const Slice& slice, std::uint32_t index);
  void take_off(std::uint32_t index);
  [[nodiscard]] bool has_room(const Change& change) const;
  void list_changed_devices(const Change& change);
  void score_changed_devices(const Change& change);

  const CpuBackend& backend_;
  const Task& task_;
  DeviceTotals totals_;

  // A piece is a table at one of its widths.
  std::vector<std::uint32_t> first_piece_;         ///< [tables]
  std::vector<std::uint32_t> levels_;              ///< [tables]
  std::vector<int> dims_;                          ///< [pieces]
  std::vector<std::int64_t> sizes_bytes_;          ///< [pieces]
  std::vector<std::int64_t> piece_lookups_;        ///< [pieces]
  AlignedVector<float> embeddings_;                ///< [pieces, embedding width]
  std::vector<std::vector<std::uint32_t>> alike_;  ///< [pieces]: the slices of each.

  std::vector<Slice> slices_;
  std::vector<Shard> shards_;
  IdExchange ids_;
  std::vector<std::int64_t> lookups_;  ///< [devices], as the others, in units of lookup_units().
  std::vector<float> dim_sums_;
  std::vector<float> compute_ms_;
  std::vector<double> total_ms_;
  double cost_ms_ = 0.0;

  // Of the change tried last.
  std::vector<std::uint32_t> changed_;   ///< Devices.
  std::vector<std::uint32_t> suspects_;  ///< These and the dearest ones.
  std::vector<std::uint32_t> dearest_;   ///< Of the board as it is.
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> pieces_;
  std::vector<float> changed_compute_ms_;
  std::vector<std::int64_t> tried_lookups_;
  std::vector<float> tried_dim_sums_;
  std::vector<float> tried_compute_ms_;
  std::vector<double> tried_total_ms_;
  double tried_cost_ms_ = 0.0;
};

}  // namespace neuroshard::bench
