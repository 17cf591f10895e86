#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "neuroshard/task.h"

namespace neuroshard {

/// Mean and (population) standard deviation over tables.
struct Moments {
  double mean = 0.0;
  double std = 0.0;
};

/// Published statistics of a set of tables and of one batch of lookups in them.
struct TableStatistics {
  Moments rows;
  Moments pooling_factor;
  /// Moments of the access histograms; tables never looked up count as all zero.
  std::array<Moments, kHistogramBins> bins;
  double accesses_per_row = 0.0;                       ///< Lookups over distinct rows, all tables.
  std::array<double, kHistogramBins> row_shares{};     ///< Shares of all distinct rows, by touches.
  std::array<double, kHistogramBins> access_shares{};  ///< Shares of all lookups, by touches of
                                                       ///< rows.
};

/// Statistics of the 856 tables of facebookresearch/dlrm_datasets (fbgemm_t856_bs65536), batch
/// 65,536.
[[nodiscard]] const TableStatistics& published_statistics();

/// Adds tables up.
class StatisticsSum {
 public:
  /// `touches`: how often the batch touches each distinct row of `table`.
  void add(const Table& table, std::span<const std::uint32_t> touches);
  [[nodiscard]] TableStatistics result() const;

 private:
  struct Sum {
    double values = 0.0;
    double squares = 0.0;

    void add(double value);
    [[nodiscard]] Moments moments(double count) const;
  };

  std::int64_t tables_ = 0;
  Sum rows_;
  Sum pooling_factor_;
  std::array<Sum, kHistogramBins> bins_;
  std::array<std::int64_t, kHistogramBins> distinct_rows_{};
  std::array<std::int64_t, kHistogramBins> accesses_{};
};

}  // namespace neuroshard
