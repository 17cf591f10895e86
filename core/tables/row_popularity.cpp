#include "core/tables/row_popularity.h"

#include <algorithm>
#include <cmath>

#include "core/base/message_text.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

/// Up to it each rank is a point.
constexpr double kFirstRanks = 16.0;
/// Points beyond are so far apart.
constexpr double kStepOfRanks = 1.25;
/// Sums of shares may be rounded.
constexpr double kShareTolerance = 1e-3;
/// Rows further down the list may seem this much more popular, by rounding: times, and share of all
/// lookups.
constexpr double kRounding = 1.01;
constexpr double kRoundedShare = 1e-6;
constexpr double kMostFittedExponent = 4.0;
/// Halvings of the range of exponents: more digits than histograms have.
constexpr int kHalvingsOfExponents = 24;

/// Mean logarithm of how often the row of a lookup is touched, by the access histogram. The more
/// popular the hottest rows are, the higher it is, also where a batch touches all rows.
double concentration_of(const Table& table) {
  const AccessProfile profile = access_profile(table, static_cast<double>(kDefaultBatchSize));
  double sum = 0.0;
  for (std::size_t bin = 0; bin < profile.rows.size(); ++bin) {
    if (profile.rows[bin] <= 0.0) continue;
    sum += profile.rows[bin] * profile.touches[bin] * std::log(profile.touches[bin]);
  }
  return profile.lookups > 0.0 ? sum / profile.lookups : 0.0;
}

}  // namespace

double next_curve_rank(double rank, double last) {
  return std::min(last, rank < kFirstRanks ? rank + 1.0 : std::ceil(rank * kStepOfRanks));
}

std::vector<PopularRows> popularity_of(const Table& table) {
  if (!table.popularity.empty()) return table.popularity;
  const double concentration = concentration_of(table);
  double low = 0.0;
  double high = kMostFittedExponent;
  Table trial = table;
  for (int i = 0; i < kHalvingsOfExponents; ++i) {
    const double exponent = (low + high) / 2.0;
    trial.access_histogram = zipf_histogram(table.rows, table.pooling_factor, exponent);
    (concentration_of(trial) < concentration ? low : high) = exponent;
  }
  return zipf_popularity(table.rows, (low + high) / 2.0);
}

Task with_known_popularity(const Task& task, const StopCondition& stop) {
  Task known = task;
  for (Table& table : known.tables) {
    if (stop.reached()) break;
    table.popularity = popularity_of(table);
  }
  return known;
}

std::optional<std::string> popularity_problem_of(const std::vector<PopularRows>& curve,
                                                 std::int64_t rows) {
  if (curve.empty()) return std::nullopt;
  if (curve.size() > kMostPopularityPoints) {
    return "popularity has " + std::to_string(curve.size()) + " points; give at most " +
           std::to_string(kMostPopularityPoints);
  }
  PopularRows last;
  double last_density = 0.0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const auto& [count, share] = curve[i];
    const std::string where = "popularity: point " + std::to_string(i);
    const bool is_number = std::isfinite(count) && std::isfinite(share);
    if (!is_number || count <= last.rows || share < last.share) {
      return where + " is [" + shortest_text(count) + ", " + shortest_text(share) +
             "]; give so many of the hottest rows and their share of all lookups, both growing";
    }
    const double rows_more = count - last.rows;
    const double density = (share - last.share) / rows_more;
    if (i > 0 && share - last.share > last_density * rows_more * kRounding + kRoundedShare) {
      return where +
             " adds rows that are looked up more often than those before; count the "
             "hottest rows first";
    }
    last = curve[i];
    last_density = density;
  }
  if (last.rows > static_cast<double>(rows)) {
    return "popularity counts " + shortest_text(last.rows) + " rows, but the table has " +
           std::to_string(rows) + "; leave out what it does not have";
  }
  if (std::abs(last.share - 1.0) > kShareTolerance) {
    return "popularity ends with a share of " + shortest_text(last.share) +
           "; the last point has all rows that are ever looked up, and a share of 1";
  }
  return std::nullopt;
}

RowReuse::RowReuse(const Table& table, double samples) {
  const double lookups = samples * table.pooling_factor;
  PopularRows last;
  for (const PopularRows& point : popularity_of(table)) {
    const double count = point.rows - last.rows;
    const double of_row = lookups * (point.share - last.share) / count;
    rows_.push_back({count, of_row, -count * std::expm1(-of_row)});
    last = point;
  }
}

double touched_share(const Table& table, double samples) {
  const double touched = RowReuse(table, samples).looked_up_lately(1.0).in_hbm;
  return std::min(1.0, touched / static_cast<double>(table.rows));
}

RowReuse::Rows RowReuse::looked_up_lately(double batches) const {
  Rows rows;
  for (const auto& [count, lookups, touched] : rows_) {
    const double there = -std::expm1(-batches * lookups);
    rows.in_hbm += count * there;
    rows.fetched += touched * (1.0 - there);
  }
  return rows;
}

RowReuse::Rows RowReuse::popular(double batches) const {
  Rows rows;
  for (const auto& [count, lookups, touched] : rows_) {
    if (batches * lookups >= 1.0) {
      rows.in_hbm += count;
    } else {
      rows.fetched += touched;
    }
  }
  return rows;
}

}  // namespace neuroshard
