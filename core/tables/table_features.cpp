#include "neuroshard/table_features.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/tables/access_statistics.h"
#include "core/tables/table_work.h"
#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"

namespace neuroshard {
namespace {

// Where each of bin_0..bin_16, dim, pooling_factor, row goes in lexicographic order of the names.
struct FeatureOrder {
  std::array<std::string, kTableFeatures> names;
  std::array<int, kTableFeatures> position{};  // Indices of bin_0..bin_16, dim, pooling_factor,
                                               // row.

  FeatureOrder() {
    std::array<std::pair<std::string, int>, kTableFeatures> named;
    for (int bin = 0; bin < kHistogramBins; ++bin) named[bin] = {"bin_" + std::to_string(bin), bin};
    named[kHistogramBins] = {"dim", kHistogramBins};
    named[kHistogramBins + 1] = {"pooling_factor", kHistogramBins + 1};
    named[kHistogramBins + 2] = {"row", kHistogramBins + 2};
    std::sort(named.begin(), named.end());
    for (int i = 0; i < kTableFeatures; ++i) {
      names[i] = named[i].first;
      position[named[i].second] = i;
    }
  }
};

const FeatureOrder& feature_order() {
  // Never destroyed: the destructor of a static object may plan.
  static const FeatureOrder& order = *new FeatureOrder;
  return order;
}

constexpr double kMib = 1048576.0;

// Operators take the threads that their widest table needs, so that a network has to see which
// widths there are.
constexpr int kWidths[] = {32, 64, 128, 256};

const std::vector<std::string>& operator_feature_names() {
  static const std::vector<std::string>& names = *new std::vector<std::string>([] {
    std::vector<std::string> list{"time_us",         "bags",
                                  "lookups",         "rows",
                                  "frequent_rows",   "looked_up_mib",
                                  "updated_mib",     "output_mib",
                                  "bag_warps",       "lookup_warps",
                                  "row_warps",       "sorted_digits",
                                  "two_moment_rows", "mean_mib",
                                  "weighted_bags",   "weighted_lookups",
                                  "weighted_warps",  "narrow_sequences",
                                  "narrow_rows",     "time_log_updated",
                                  "time_log_output", "time_log_pooling"};
    for (const int width : kWidths) list.push_back("time_over_" + std::to_string(width));
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      list.push_back("time_bin_" + std::to_string(bin));
    }
    return list;
  }());
  return names;
}

double scaled_log(double value, double middle) {
  constexpr double kOctaves = 4.0;
  return (std::log2(std::max(value, 1.0)) - middle) / kOctaves;
}

/// `profile`: of `samples` samples. docs/weights_format.md explains each number.
std::array<float, kOperatorFeatures> operator_features(const Table& table,
                                                       const AccessProfile& profile, double samples,
                                                       int dim) {
  const TableWork work = table_work(table, profile, samples, dim);
  const double share = warp_share(dim);
  const double row_work = warp_work(dim);
  const double looked_up = work.lookups * work.weight_bytes / kMib;
  const double updated = 2.0 * work.rows * (work.weight_bytes + work.state_bytes) / kMib;
  const double output = work.output_bytes / kMib;
  // The order of magnitude of its time, if it were alone.
  const double time =
      1e-3 * (0.4 * work.bags + 0.08 * work.lookups + 0.4 * work.rows + 15.0 * work.frequent_rows) +
      0.25 * (looked_up + updated + output);
  std::array<float, kOperatorFeatures> features{};
  std::size_t next = 0;
  const auto put = [&](double value) { features[next++] = static_cast<float>(value); };
  const auto put_if = [&](bool has, double value) { put(has ? value : 0.0); };
  const bool mean = table.pooling == Pooling::kMean;
  const bool narrow = is_narrow_sequence(table, dim);
  put(time);
  put(work.bags);
  put(work.lookups);
  put(work.rows);
  put(work.frequent_rows);
  put(looked_up);
  put(updated);
  put(output);
  put(work.bags * share);
  put(work.lookups * row_work);
  put(work.rows * share);
  put(work.lookups * sort_passes(static_cast<double>(table.rows)));
  put_if(has_two_moments(table.memory.optimizer), work.rows);
  put_if(mean, output);
  put_if(table.weighted, work.bags);
  put_if(table.weighted, work.lookups);
  put_if(table.weighted, work.lookups * row_work);
  put_if(narrow, work.bags);
  put_if(narrow, work.lookups * narrow_row_work(dim));
  put(time * scaled_log(updated * kMib, 24.0));
  put(time * scaled_log(output * kMib, 24.0));
  put(time * scaled_log(work.lookups / work.bags, 4.0));
  for (const int width : kWidths) put_if(dim > width, time);
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double share_of_bin =
        profile.lookups > 0.0 ? profile.rows[bin] * profile.touches[bin] / profile.lookups : 0.0;
    put(time * share_of_bin);
  }
  return features;
}

}  // namespace

std::span<const std::string> table_feature_names(int count) {
  if (count == kTableFeatures) return feature_order().names;
  if (count == kOperatorFeatures) return operator_feature_names();
  throw Error("no set of table features has " + std::to_string(count) + "; there are " +
              std::to_string(kTableFeatures) + " published ones and " +
              std::to_string(kOperatorFeatures) + " of operators");
}

std::array<float, kTableFeatures> table_features(const Table& table, int dim) {
  const auto& position = feature_order().position;
  std::array<float, kTableFeatures> features{};
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    features[position[bin]] = static_cast<float>(table.access_histogram[bin]);
  }
  features[position[kHistogramBins]] = static_cast<float>(dim);
  features[position[kHistogramBins + 1]] = static_cast<float>(table.pooling_factor);
  features[position[kHistogramBins + 2]] = static_cast<float>(table.rows);
  return features;
}

OperatorFeatures::OperatorFeatures(int count, double samples) : count_(count), samples_(samples) {
  (void)table_feature_names(count);
  if (count_ == kOperatorFeatures) scale_ = std::make_unique<const HistogramScale>(samples);
}
OperatorFeatures::~OperatorFeatures() = default;
OperatorFeatures::OperatorFeatures(OperatorFeatures&&) noexcept = default;
OperatorFeatures& OperatorFeatures::operator=(OperatorFeatures&&) noexcept = default;

void OperatorFeatures::append(const Table& table, std::span<const int> dims,
                              std::vector<float>& features) const {
  if (count_ == kTableFeatures) {
    auto row = table_features(table, 0);
    const int dim_position = feature_order().position[kHistogramBins];
    for (const int dim : dims) {
      row[dim_position] = static_cast<float>(dim);
      features.insert(features.end(), row.begin(), row.end());
    }
    return;
  }
  const AccessProfile profile = access_profile(table, *scale_, samples_);
  for (const int dim : dims) {
    const auto row = operator_features(table, profile, samples_, dim);
    features.insert(features.end(), row.begin(), row.end());
  }
}

}  // namespace neuroshard
