#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

// A compute model sees a table as features. Its number of inputs says which of two sets it knows.

/// The published features, whatever the type of the weights, in lexicographic order of their names:
/// bin_0, bin_1, bin_10, ..., bin_16, bin_2, ..., bin_9, dim, pooling_factor, row. They describe
/// kDefaultBatchSize samples only.
inline constexpr int kTableFeatures = kHistogramBins + 3;

/// Features of an operator that serves any number of samples: docs/weights_format.md defines them.
/// The first, `time_us`, says roughly what a table takes by itself. The others are amounts that
/// cost time, or that time multiplied by a number without unit. A network without biases thus gives
/// costs in proportion to the work.
inline constexpr int kOperatorFeatures = kHistogramBins + 26;

/// Names of either set, in the order of the inputs. Throws Error if no set has `count` features.
[[nodiscard]] std::span<const std::string> table_feature_names(int count = kTableFeatures);

/// The published features of `table` with its dim replaced by `dim`, not normalised.
[[nodiscard]] std::array<float, kTableFeatures> table_features(const Table& table, int dim);

class HistogramScale;

/// Writes the inputs of a compute model for the tables of one operator, which all serve the same
/// samples: those of the iteration, or of a device's part of them if the tables are replicated.
class OperatorFeatures {
 public:
  /// `count` is that of the model (`Backend::table_features()`). Throws Error unless it is that of
  /// a set, and unless `samples`, which need not be whole, is positive and at most kMaxBatchSize.
  /// The published features are those of kDefaultBatchSize samples whatever `samples` is.
  explicit OperatorFeatures(int count, double samples = kDefaultBatchSize);
  ~OperatorFeatures();
  OperatorFeatures(OperatorFeatures&&) noexcept;
  OperatorFeatures& operator=(OperatorFeatures&&) noexcept;

  [[nodiscard]] int count() const { return count_; }

  /// Appends [dims, count()]: slices of `table`, whose access histogram is of kDefaultBatchSize
  /// samples, not normalised.
  void append(const Table& table, std::span<const int> dims, std::vector<float>& features) const;
  void append(const Table& table, int dim, std::vector<float>& features) const {
    append(table, std::span(&dim, 1), features);
  }

 private:
  int count_;
  double samples_;
  std::unique_ptr<const HistogramScale> scale_;  ///< None: histograms are as they are.
};

}  // namespace neuroshard
#pragma GCC visibility pop
