#include "core/tables/access_statistics.h"

#include <gtest/gtest.h>

#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

TEST(HistogramBin, HasTheEdgesOfThePublishedHistogram) {
  EXPECT_EQ(histogram_bin(1), 0);
  EXPECT_EQ(histogram_bin(2), 1);
  for (int bin = 2; bin < kHistogramBins - 1; ++bin) {
    EXPECT_EQ(histogram_bin((std::int64_t{1} << (bin - 1)) + 1), bin);
    EXPECT_EQ(histogram_bin(std::int64_t{1} << bin), bin);
    EXPECT_EQ(first_touches(bin), last_touches(bin - 1) + 1);
  }
  EXPECT_EQ(histogram_bin(32768), 15);
  EXPECT_EQ(histogram_bin(32769), 16);
  EXPECT_EQ(histogram_bin(std::int64_t{1} << 40), 16);
}

TEST(MeanTouches, AgreesWithThePublishedAggregateOfBothHistograms) {
  // fbgemm_t856_bs65536: shares of rows and of accesses by reuse, 6.9 accesses a row.
  constexpr double kRows[] = {0.473, 0.152, 0.139, 0.112, 0.072, 0.032, 0.011};
  constexpr double kAccesses[] = {0.069, 0.044, 0.068, 0.101, 0.121, 0.104, 0.073};
  for (int bin = 0; bin < 7; ++bin) {
    const double published = kAccesses[bin] / kRows[bin] * 887017990.0 / 128435723.0;
    EXPECT_NEAR(mean_touches(bin) / published, 1.0, 0.06) << "bin " << bin;
  }
}

TEST(AccessProfile, AccountsForEveryLookup) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const Table table = random_table(random, 64);
    const AccessProfile profile = access_profile(table, 65536);
    double rows = 0.0;
    double lookups = 0.0;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      rows += profile.rows[bin];
      lookups += profile.rows[bin] * profile.touches[bin];
    }
    EXPECT_NEAR(lookups / profile.lookups, 1.0, 1e-12);
    EXPECT_NEAR(rows / profile.distinct_rows, 1.0, 1e-12);
    EXPECT_LE(profile.distinct_rows, static_cast<double>(table.rows));
  }
}

TEST(AccessProfile, OfATableWithoutHistogramIsEven) {
  Table table{.rows = 1000, .dim = 4, .pooling_factor = 2.0};
  const AccessProfile profile = access_profile(table, 65536);
  EXPECT_NEAR(profile.distinct_rows, 1000.0, 1e-9);
  EXPECT_NEAR(profile.touches[histogram_bin(131)] * profile.rows[histogram_bin(131)], 131072.0,
              1e-6);
}

TEST(AccessProfile, OfATableNeverLookedUpIsEmpty) {
  Table table{.rows = 1000, .dim = 4};
  EXPECT_EQ(access_profile(table, 65536).distinct_rows, 0.0);
}

}  // namespace
}  // namespace neuroshard
