#pragma once

#include <map>
#include <utility>

#include "core/tables/access_statistics.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/plan.h"

namespace neuroshard {

/// table_of() for many slices of a task. Histograms of blocks with more or less than their share of
/// the lookups are interpolated between those of numbers of samples that are 2^(1/8) apart, which
/// blocks have in common: to make one takes 0.1 ms, and a plan may have thousands of blocks.
class SliceTables {
 public:
  /// Borrows `task`.
  explicit SliceTables(const Task& task) : task_(task) {}

  [[nodiscard]] Table of(const TableSlice& slice);

 private:
  /// Histogram of `table` in 2^(step / 8) times as many samples.
  const Histogram& rescaled(int table, int step);

  const Task& task_;
  std::map<int, HistogramScale> scales_;                 ///< By step.
  std::map<std::pair<int, int>, Histogram> histograms_;  ///< By table and step.
};

/// All of table_of() but the access histogram, which memory does not depend on, and the rules.
[[nodiscard]] Table sized_table_of(const Task& task, const TableSlice& slice);

}  // namespace neuroshard
