#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/aligned_vector.h"
#include "search/improvement/plan_edit.h"
#include "search/layout.h"

namespace neuroshard {

/// A complete plan that is being changed. Knows of each device what the cost models look at, and
/// keeps that true by looking only at the devices that an edit touches.
class WorkingPlan {
 public:
  /// Borrows `catalog`. Slices are numbered as in `layout`, until the first edit. `equal_widths`:
  /// all slices of a table have one width, and keep to that.
  WorkingPlan(const PieceCatalog& catalog, int devices, const Layout& layout,
              bool equal_widths = false);

  [[nodiscard]] const PieceCatalog& catalog() const { return catalog_; }
  [[nodiscard]] std::uint32_t devices() const { return static_cast<std::uint32_t>(on_.size()); }
  [[nodiscard]] const Layout& layout() const { return slices_; }
  [[nodiscard]] const PlacedSlice& slice(std::uint32_t index) const { return slices_[index]; }
  /// Indices of slices.
  [[nodiscard]] std::span<const std::uint32_t> on_device(std::uint32_t device) const {
    return on_[device];
  }
  [[nodiscard]] std::span<const std::uint32_t> of_table(std::uint32_t table) const {
    return of_[table];
  }

  /// Whether one slice may become two, or two of this width one, on whatever devices. Edits change
  /// few slices, so tables of more slices keep theirs where widths are equal.
  [[nodiscard]] bool can_halve(const PlacedSlice& slice) const {
    return catalog_.can_split(slice.piece) && (!equal_widths_ || of_[slice.table].size() == 1) &&
           of_[slice.table].size() < catalog_.most_slices(slice.table);
  }
  [[nodiscard]] bool can_join(const PlacedSlice& slice) const {
    return catalog_.whole(slice.table) != slice.piece &&
           (!equal_widths_ || of_[slice.table].size() == 2);
  }

  /// Sum of the embeddings of a device, [embedding width].
  [[nodiscard]] const float* sum(std::uint32_t device) const {
    return sums_.data() + device * width_;
  }
  [[nodiscard]] std::int64_t dim_sum(std::uint32_t device) const { return dim_sums_[device]; }
  [[nodiscard]] std::int64_t memory(std::uint32_t device) const { return memory_[device]; }
  [[nodiscard]] std::span<const std::int64_t> dim_sums() const { return dim_sums_; }
  /// Of each device, in units of lookup_units().
  [[nodiscard]] std::span<const std::int64_t> lookups() const { return lookups_; }

  /// What `edit` would make of its two devices.
  struct Outcome {
    std::int64_t dim_sum[2];
    std::int64_t memory[2];
    std::int64_t lookups[2];
    bool empty[2];
  };
  /// `sums`: [2, embedding width] is written.
  [[nodiscard]] Outcome outcome(const PlanEdit& edit, float* sums) const;
  /// Slices that replace removed ones take their numbers.
  void apply(const PlanEdit& edit);

 private:
  void add(const PlacedSlice& slice, std::uint32_t index);
  void unlist(std::uint32_t index);
  void recompute(std::uint32_t device);

  /// Where a slice is listed.
  struct Listed {
    std::uint32_t on_device;
    std::uint32_t of_table;
  };

  const PieceCatalog& catalog_;
  bool equal_widths_;
  std::size_t width_;
  Layout slices_;
  std::vector<Listed> listed_;                  ///< Of each slice.
  std::vector<std::vector<std::uint32_t>> on_;  ///< Slices of each device.
  std::vector<std::vector<std::uint32_t>> of_;  ///< Slices of each table.
  AlignedVector<float> sums_;                   ///< [devices, width]
  std::vector<std::int64_t> dim_sums_;
  std::vector<std::int64_t> memory_;
  std::vector<std::int64_t> lookups_;
};

}  // namespace neuroshard
