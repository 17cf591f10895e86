#include "weights/lookups/table_population.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "core/base/count_up.h"
#include "core/base/random.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"
#include "weights/lookups/access_stream.h"
#include "weights/lookups/table_statistics.h"

namespace neuroshard {
namespace {

// The shape of a table's histogram is a bell over the bins plus a little weight on rarely touched
// rows. Where the bells lie is a mixture: most near the rarely touched end, some anywhere beyond.
// The figures were fitted to the published deviations and aggregates by random search.
constexpr double kNearShare = 0.754;
constexpr double kNearCenter = 0.0;
constexpr double kNearSpread = 2.2;
constexpr double kFarFirst = 5.75;
constexpr double kFarLast = 17.5;
constexpr double kBellWidth = 1.95;
constexpr double kBellWidthSpread = 0.32;  // Spread of the width's logarithm.
constexpr double kRareWeight = 0.009;
constexpr double kNoise = 0.11;
// Rank correlation between a table's mean bin and its pooling factor.
constexpr double kPoolingCorrelation = -0.5;
// Weibull: 1.322 gives the published ratio of deviation to mean of the row counts.
constexpr double kRowShape = 1.322;
// A batch touches at most this share of a table's rows.
constexpr double kMaxTouchedShare = 0.9;
constexpr std::int64_t kMinRows = 100;  // No table has fewer, as in the published preprocessing.

double inverse_normal(double probability) {
  double low = -9.0;
  double high = 9.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    const double below = 0.5 * std::erfc(-middle / std::numbers::sqrt2);
    (below < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// One value in each n-th of (0, 1), in random order: moments come out right for few tables too.
std::vector<double> stratified(int count, Random& random) {
  std::vector<double> values(count);
  for (int i = 0; i < count; ++i) values[i] = (i + 0.5) / count;
  shuffle(std::span(values), random);
  return values;
}

std::vector<int> order_by(const std::vector<double>& keys) {
  std::vector<int> order = count_up<int>(keys.size());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  return order;
}

std::vector<Histogram> draw_histograms(int count, Random& random) {
  const std::vector<double> place = stratified(count, random);
  const std::vector<double> width = stratified(count, random);
  std::vector<Histogram> histograms(count);
  for (int t = 0; t < count; ++t) {
    const double center =
        place[t] < kNearShare
            ? kNearCenter + kNearSpread * inverse_normal(place[t] / kNearShare)
            : kFarFirst + (kFarLast - kFarFirst) * (place[t] - kNearShare) / (1.0 - kNearShare);
    const double sigma = kBellWidth * std::exp(kBellWidthSpread * inverse_normal(width[t]));
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      const double distance = (bin - center) / sigma;
      histograms[t][bin] =
          (std::exp(-0.5 * distance * distance) + kRareWeight * std::exp(-bin / 3.0)) *
          std::exp(kNoise * random.normal());
    }
    normalize(histograms[t]);
  }
  return histograms;
}

// Multiplies each bin by a factor common to all tables, until the means over `all_tables` (of which
// those without histogram are never looked up) are the published ones.
void match_bin_means(std::vector<Histogram>& histograms, int all_tables) {
  const auto& published = published_statistics().bins;
  for (int round = 0; round < 100; ++round) {
    Histogram mean{};
    for (const Histogram& histogram : histograms) {
      for (int bin = 0; bin < kHistogramBins; ++bin) mean[bin] += histogram[bin] / all_tables;
    }
    for (Histogram& histogram : histograms) {
      for (int bin = 0; bin < kHistogramBins; ++bin) {
        if (mean[bin] > 0.0) histogram[bin] *= published[bin].mean / mean[bin];
      }
      normalize(histogram);
    }
  }
}

// Log-normal with the published mean and deviation over all tables; tables whose rows are touched
// often tend to have the smaller ones.
std::vector<double> draw_pooling_factors(const std::vector<Histogram>& histograms, int all_tables,
                                         Random& random) {
  const int count = static_cast<int>(histograms.size());
  const Moments& published = published_statistics().pooling_factor;
  const double mean = published.mean * all_tables / count;
  const double mean_square =
      (published.std * published.std + published.mean * published.mean) * all_tables / count;
  const double sigma = std::sqrt(std::log(mean_square / (mean * mean)));

  std::vector<double> mean_bin(count, 0.0);
  for (int t = 0; t < count; ++t) {
    for (int bin = 0; bin < kHistogramBins; ++bin) mean_bin[t] += bin * histograms[t][bin];
  }
  const std::vector<int> by_bin = order_by(mean_bin);
  const std::vector<double> own = stratified(count, random);
  std::vector<double> score(count);
  for (int rank = 0; rank < count; ++rank) {
    const int t = by_bin[rank];
    score[t] = kPoolingCorrelation * inverse_normal((rank + 0.5) / count) +
               std::sqrt(1.0 - kPoolingCorrelation * kPoolingCorrelation) * inverse_normal(own[t]);
  }
  const std::vector<int> by_score = order_by(score);
  std::vector<double> pooling(count);
  double sum = 0.0;
  for (int rank = 0; rank < count; ++rank) {
    sum += pooling[by_score[rank]] = std::exp(sigma * inverse_normal((rank + 0.5) / count));
  }
  for (double& factor : pooling) factor *= mean * count / sum;
  return pooling;
}

std::vector<std::int64_t> draw_row_counts(int count, double scale, Random& random) {
  std::vector<double> rows;
  rows.reserve(static_cast<std::size_t>(count));
  double sum = 0.0;
  for (const double u : stratified(count, random)) {
    rows.push_back(std::pow(-std::log(1.0 - u), 1.0 / kRowShape));
    sum += rows.back();
  }
  const double unit = scale * published_statistics().rows.mean * count / sum;
  std::vector<std::int64_t> counts;
  counts.reserve(rows.size());
  for (const double r : rows)
    counts.push_back(std::max<std::int64_t>(kMinRows, std::llround(r * unit)));
  return counts;
}

// Gives each table a row count that holds the distinct rows it touches, at random otherwise. Tables
// that touch most choose first. A table that fits nowhere gets the largest count left.
void assign_row_counts(std::vector<Table>& tables, std::vector<std::int64_t> counts,
                       std::int64_t batch, Random& random) {
  std::vector<double> touched;
  for (Table& table : tables) {
    table.rows = kMaxRows;
    touched.push_back(access_profile(table, batch).distinct_rows);
  }
  std::sort(counts.begin(), counts.end());
  const std::vector<int> order = order_by(touched);
  for (auto t = order.rbegin(); t != order.rend(); ++t) {
    const auto needed = static_cast<std::int64_t>(touched[*t] / kMaxTouchedShare);
    auto first = std::lower_bound(counts.begin(), counts.end(), needed);
    if (first == counts.end()) --first;
    const auto chosen = first + static_cast<std::ptrdiff_t>(random.below(counts.end() - first));
    tables[*t].rows = *chosen;
    counts.erase(chosen);
  }
}

// Few rows cannot have a smooth histogram, and few tables make up the bins of many touches, so
// rounding alone would move those bins' means by a fifth. Each table of few rows is rounded at
// random several times; the rounding that brings the means closest to the published ones is kept.
void choose_roundings(std::vector<PopulationTable>& tables, const PopulationOptions& options) {
  constexpr int kRoundings = 8;
  constexpr double kFewRows = 2000.0;
  const auto& published = published_statistics().bins;
  const double count = static_cast<double>(tables.size());
  const auto rounded = [&](const PopulationTable& drawn) {
    Random random(options.seed, drawn.stream);
    return with_statistics_of(drawn.table, plan_touches(drawn.table, options.batch, random),
                              options.batch)
        .access_histogram;
  };

  Histogram mean{};
  std::vector<std::size_t> few_rows;
  std::vector<Histogram> current(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const double distinct = access_profile(tables[t].table, options.batch).distinct_rows;
    const bool few = distinct > 0.0 && distinct < kFewRows;
    if (few) few_rows.push_back(t);
    current[t] = few ? rounded(tables[t]) : tables[t].table.access_histogram;
    for (int bin = 0; bin < kHistogramBins; ++bin) mean[bin] += current[t][bin] / count;
  }
  const auto error_with = [&](const Histogram& old, const Histogram& other) {
    double error = 0.0;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      const double changed = mean[bin] + (other[bin] - old[bin]) / count;
      error += std::pow(changed / published[bin].mean - 1.0, 2);
    }
    return error;
  };
  for (const std::size_t t : few_rows) {
    PopulationTable best = tables[t];
    Histogram best_histogram = current[t];
    for (int attempt = 1; attempt < kRoundings; ++attempt) {
      PopulationTable other = tables[t];
      other.stream += tables.size() * attempt;
      const Histogram histogram = rounded(other);
      if (error_with(current[t], histogram) < error_with(current[t], best_histogram)) {
        best = other;
        best_histogram = histogram;
      }
    }
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      mean[bin] += (best_histogram[bin] - current[t][bin]) / count;
    }
    tables[t] = best;
  }
}

}  // namespace

std::vector<PopulationTable> draw_population(const PopulationOptions& options) {
  if (options.tables < 1 || options.tables > 1'000'000 || options.batch < 1 ||
      options.batch > (std::int64_t{1} << 30) || !(options.row_scale > 0.0) ||
      options.row_scale > 1000.0) {
    throw Error("cannot generate " + std::to_string(options.tables) + " tables for batch " +
                std::to_string(options.batch) + " with rows scaled by " +
                std::to_string(options.row_scale) +
                "; give 1 to 1,000,000 tables, a batch of 1 to 2^30 and a scale in (0, 1000]");
  }
  Random random(options.seed);
  double looked_up_share = 0.0;
  for (const Moments& bin : published_statistics().bins) looked_up_share += bin.mean;
  const int looked_up =
      std::max(1, static_cast<int>(std::lround(looked_up_share * options.tables)));

  std::vector<Histogram> histograms = draw_histograms(looked_up, random);
  match_bin_means(histograms, options.tables);
  const std::vector<double> pooling = draw_pooling_factors(histograms, options.tables, random);

  std::vector<Table> tables(options.tables);
  for (int t = 0; t < options.tables; ++t) {
    tables[t].dim = 128;
    if (t >= looked_up) continue;  // Never looked up.
    tables[t].pooling_factor = pooling[t];
    tables[t].access_histogram = histograms[t];
  }
  assign_row_counts(tables, draw_row_counts(options.tables, options.row_scale, random),
                    options.batch, random);
  shuffle(std::span(tables), random);

  std::vector<PopulationTable> population;
  population.reserve(tables.size());
  for (const Table& table : tables) population.push_back({table, population.size()});
  choose_roundings(population, options);
  return population;
}

}  // namespace neuroshard
