#include "neuroshard/histogram_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

Table zipf_table(std::int64_t rows, double pooling, double exponent) {
  return {.name = "",
          .rows = rows,
          .dim = 64,
          .pooling_factor = pooling,
          .access_histogram = zipf_histogram(rows, pooling, exponent)};
}

/// Errors of access shares and of the number of distinct rows, rescaled against derived for the
/// batch.
struct ScaleErrors {
  double largest_share = 0.0;  ///< Error of the share of lookups, in any bin, cumulated.
  double distinct = 0.0;       ///< Relative.
};

ScaleErrors errors_of(std::int64_t rows, double pooling, double exponent, std::int64_t samples) {
  const Table table = zipf_table(rows, pooling, exponent);
  const auto scaled = HistogramScale(static_cast<double>(samples))(table);
  const auto exact = zipf_histogram(rows, pooling, exponent, samples);
  const auto n = static_cast<double>(samples);
  const AccessProfile a = access_profile(rows, pooling, scaled, n);
  const AccessProfile b = access_profile(rows, pooling, exact, n);
  ScaleErrors errors;
  double sum = 0.0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    sum += (a.rows[bin] * a.touches[bin] - b.rows[bin] * b.touches[bin]) / b.lookups;
    errors.largest_share = std::max(errors.largest_share, std::abs(sum));
  }
  errors.distinct = std::abs(a.distinct_rows / b.distinct_rows - 1.0);
  return errors;
}

TEST(HistogramScale, TheSameNumberOfSamplesChangesNothing) {
  const Table table = zipf_table(1'000'000, 5.0, 1.05);
  EXPECT_EQ(HistogramScale(65536.0)(table), table.access_histogram);
}

/// Lookups of rows that are touched more than 32,768 times. How often, histograms do not say.
double share_of_open_bin(std::int64_t rows, double pooling, double exponent) {
  const Table table = zipf_table(rows, pooling, exponent);
  const AccessProfile profile = access_profile(table, 65536.0);
  return profile.rows.back() * profile.touches.back() / profile.lookups;
}

struct ErrorBounds {
  std::int64_t samples;
  double mean_share;
  double mean_distinct;
  double worst_distinct;
};

// docs/zipf_histogram.md has these figures.
TEST(HistogramScale, IsNearTheHistogramThatIsDerivedForTheBatch) {
  for (const ErrorBounds& bounds : {ErrorBounds{64, 0.03, 0.03, 0.2},
                                    {1024, 0.03, 0.03, 0.2},
                                    {4096, 0.03, 0.03, 0.2},
                                    {16384, 0.03, 0.03, 0.2},
                                    {262144, 0.02, 0.01, 0.06},
                                    {1048576, 0.04, 0.03, 0.25},
                                    {4194304, 0.065, 0.06, 0.5}}) {
    SCOPED_TRACE(bounds.samples);
    ErrorBounds mean{bounds.samples, 0.0, 0.0, 0.0};
    int count = 0;
    for (const std::int64_t rows : {100, 10'000, 1'000'000, 100'000'000}) {
      for (const double pooling : {0.1, 1.0, 10.0, 100.0}) {
        for (const double exponent : {0.0, 0.6, 0.9, 1.05, 1.3}) {
          if (share_of_open_bin(rows, pooling, exponent) > 0.05) continue;
          const ScaleErrors errors = errors_of(rows, pooling, exponent, bounds.samples);
          mean.mean_share += errors.largest_share;
          mean.mean_distinct += errors.distinct;
          mean.worst_distinct = std::max(mean.worst_distinct, errors.distinct);
          ++count;
        }
      }
    }
    EXPECT_GT(count, 50);
    EXPECT_LE(mean.mean_share / count, bounds.mean_share);
    EXPECT_LE(mean.mean_distinct / count, bounds.mean_distinct);
    EXPECT_LE(mean.worst_distinct, bounds.worst_distinct);
  }
}

TEST(HistogramScale, SumsToOne) {
  for (const double samples : {1.0, 0.5, 300.5, 5000.0, 1e6, 4194304.0}) {
    const HistogramScale scale(samples);
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      Table table{
          .name = "", .rows = 1000, .dim = 4, .pooling_factor = 2.0, .access_histogram = {}};
      table.access_histogram[bin] = 0.5;  // They are normalised.
      table.access_histogram[3] += 0.5;
      const auto scaled = scale(table);
      EXPECT_NEAR(std::accumulate(scaled.begin(), scaled.end(), 0.0), 1.0, 1e-12);
      for (const double share : scaled) EXPECT_GE(share, 0.0);
    }
  }
}

TEST(HistogramScale, TablesThatAreNeverLookedUpStaySo) {
  const Table table{.name = "", .rows = 9, .dim = 4, .pooling_factor = 0.0, .access_histogram = {}};
  EXPECT_EQ(HistogramScale(100.0)(table), table.access_histogram);
}

TEST(HistogramScale, RowsThatAllAreTouchedOftenMoveByTheFactor) {
  Table table{.name = "", .rows = 64, .dim = 4, .pooling_factor = 1.0, .access_histogram = {}};
  table.access_histogram[10] = 1.0;
  EXPECT_NEAR(HistogramScale(4.0 * 65536)(table)[12], 1.0, 1e-12);
  EXPECT_GT(HistogramScale(65536 / 4.0)(table)[8], 0.95);
}

TEST(HistogramScale, RefusesWhatIsNoNumberOfSamples) {
  for (const double samples : {0.0, -1.0, 1e13, std::nan("")}) {
    EXPECT_THROW(HistogramScale{samples}, Error);
  }
}

}  // namespace
}  // namespace neuroshard
