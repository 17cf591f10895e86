#include "weights/lookups/wide_population.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/random.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

constexpr double kFewestRows = 3.0;
constexpr double kMostRows = 5e8;
constexpr double kMostPooling = 250.0;

double uniform(double low, double high, Random& random) {
  return low + (high - low) * random.uniform();
}

double draw_exponent(Random& random) {
  const double kind = random.uniform();
  if (kind < 0.1) return 0.0;  // All rows equally popular.
  if (kind < 0.6) return 1.07 + 0.06 * random.normal();
  return uniform(0.0, 1.5, random);
}

void draw_zipf_table(Table& table, std::int64_t batch, Random& random) {
  constexpr double kOneHotShare = 0.5;
  table.rows = std::llround(random.log_uniform(kFewestRows, kMostRows));
  table.pooling_factor =
      random.uniform() < kOneHotShare ? 1.0 : random.log_uniform(0.5, kMostPooling);
  table.access_histogram =
      zipf_histogram(table.rows, table.pooling_factor, draw_exponent(random), batch);
}

// A share of the rows in one bin, the others falling off beyond it as far as some last bin; in
// every third histogram a bell on top.
Histogram draw_histogram(Random& random) {
  Histogram histogram{};
  const int first = random.uniform() < 0.6 ? 0 : static_cast<int>(random.below(kHistogramBins));
  const int last = first + static_cast<int>(random.below(kHistogramBins - first));
  const double decay = uniform(0.1, 0.8, random);
  histogram[first] = 1.0;
  double share = random.log_uniform(0.005, 2.0);
  for (int bin = first + 1; bin <= last; ++bin) {
    histogram[bin] = share;
    share *= decay;
  }
  if (random.uniform() < 1.0 / 3.0) {
    const double center = uniform(0.0, kHistogramBins - 1.0, random);
    const double width = uniform(0.5, 2.5, random);
    const double height = random.log_uniform(0.01, 2.0);
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      const double distance = (bin - center) / width;
      histogram[bin] += height * std::exp(-0.5 * distance * distance);
    }
  }
  for (double& entry : histogram) entry *= std::exp(0.2 * random.normal());
  normalize(histogram);
  return histogram;
}

void draw_other_table(Table& table, std::int64_t batch, Random& random) {
  constexpr double kMaxTouchedShare = 0.95;
  table.pooling_factor = random.log_uniform(0.05, kMostPooling);
  table.access_histogram = draw_histogram(random);
  table.rows = kMaxRows;
  const double touched = access_profile(table, batch).distinct_rows;
  // No bin has half a row.
  auto& histogram = table.access_histogram;
  const auto most = std::max_element(histogram.begin(), histogram.end());
  for (auto share = histogram.begin(); share != histogram.end(); ++share) {
    if (share != most && *share * touched < 0.5) *share = 0.0;
  }
  normalize(histogram);
  const double fewest = std::clamp(touched / kMaxTouchedShare, kFewestRows, kMostRows);
  table.rows = std::llround(random.log_uniform(fewest, kMostRows));
}

}  // namespace

std::vector<Table> draw_wide_population(const WidePopulationOptions& options) {
  if (options.tables < 1 || options.tables > 1'000'000 || options.batch < 1 ||
      options.batch > (std::int64_t{1} << 30)) {
    throw Error("cannot generate " + std::to_string(options.tables) + " tables for batch " +
                std::to_string(options.batch) +
                "; give 1 to 1,000,000 tables and a batch of 1 to 2^30");
  }
  std::vector<Table> tables(options.tables);
  for (int t = 0; t < options.tables; ++t) {
    Random random(options.seed, t);
    tables[t].dim = 128;
    if (t % 2 == 0) {
      draw_zipf_table(tables[t], options.batch, random);
    } else {
      draw_other_table(tables[t], options.batch, random);
    }
  }
  return tables;
}

}  // namespace neuroshard
