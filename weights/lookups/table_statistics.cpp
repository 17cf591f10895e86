#include "weights/lookups/table_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/tables/access_statistics.h"

namespace neuroshard {
namespace {

// Per-feature figures: feature_means and feature_stds of the published compute-cost checkpoint
// (repository anonymoussubmition/neuroshard, commit e363480f8332, models/compute.pt), made from the
// 856 tables. Aggregates: facebookresearch/dlrm_datasets, commit 6f46ba7906e4,
// embedding_bag/2021/locality_stats.txt, file fbgemm_t856_bs65536.pt.
constexpr TableStatistics kPublished = {
    .rows = {4107472.25, 3134816.25},
    .pooling_factor = {15.8117, 25.5944},
    .bins = {{{0.22457, 0.22654},
              {0.10440, 0.06949},
              {0.12615, 0.09165},
              {0.10613, 0.07559},
              {0.08235, 0.05888},
              {0.05620, 0.05135},
              {0.03864, 0.04839},
              {0.03278, 0.05677},
              {0.03127, 0.06726},
              {0.02708, 0.06449},
              {0.02661, 0.07426},
              {0.02154, 0.06897},
              {0.01893, 0.06961},
              {0.01469, 0.08092},
              {0.00633, 0.04291},
              {0.00761, 0.05094},
              {0.03266, 0.12282}}},
    .accesses_per_row = 887017990.0 / 128435723.0,
    .row_shares = {0.473, 0.152, 0.139, 0.112, 0.072, 0.032, 0.011, 0.005, 0.002, 0.001},
    .access_shares = {0.069, 0.044, 0.068, 0.101, 0.121, 0.104, 0.073, 0.058, 0.052, 0.050, 0.049,
                      0.048, 0.048, 0.043, 0.031, 0.023, 0.019},
};

std::array<double, kHistogramBins> shares_of(const std::array<std::int64_t, kHistogramBins>& sums,
                                             double total) {
  std::array<double, kHistogramBins> shares{};
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    if (total > 0.0) shares[bin] = static_cast<double>(sums[bin]) / total;
  }
  return shares;
}

template <typename Numbers>
double sum_of(const Numbers& numbers) {
  return static_cast<double>(std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}));
}

}  // namespace

const TableStatistics& published_statistics() { return kPublished; }

void StatisticsSum::Sum::add(double value) {
  values += value;
  squares += value * value;
}

Moments StatisticsSum::Sum::moments(double count) const {
  const double mean = values / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

void StatisticsSum::add(const Table& table, std::span<const std::uint32_t> touches) {
  ++tables_;
  rows_.add(static_cast<double>(table.rows));
  pooling_factor_.add(table.pooling_factor);
  for (int bin = 0; bin < kHistogramBins; ++bin) bins_[bin].add(table.access_histogram[bin]);
  for (const std::uint32_t t : touches) {
    const int bin = histogram_bin(t);
    ++distinct_rows_[bin];
    accesses_[bin] += t;
  }
}

TableStatistics StatisticsSum::result() const {
  TableStatistics statistics;
  if (tables_ == 0) return statistics;
  const double count = static_cast<double>(tables_);
  statistics.rows = rows_.moments(count);
  statistics.pooling_factor = pooling_factor_.moments(count);
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    statistics.bins[bin] = bins_[bin].moments(count);
  }
  const double distinct = sum_of(distinct_rows_);
  const double accesses = sum_of(accesses_);
  if (distinct > 0.0) statistics.accesses_per_row = accesses / distinct;
  statistics.row_shares = shares_of(distinct_rows_, distinct);
  statistics.access_shares = shares_of(accesses_, accesses);
  return statistics;
}

}  // namespace neuroshard
