#include "neuroshard/table_features.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/tables/access_statistics.h"
#include "core/tables/row_traffic.h"
#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"

namespace neuroshard {
namespace {

// Where each of bin_0..bin_16, dim, pooling_factor, row goes in lexicographic order of the names.
struct FeatureOrder {
  std::array<std::string, kTableFeatures> names;
  std::array<int, kTableFeatures> position{};  // Of bin_0..bin_16, dim, pooling_factor, row.

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
constexpr double kBytesPerId = 8.0;
// No sample of training has means or weights of lookups. What they take besides is told as ids that
// take as long, since the more of these, the longer operators take, whatever else they do: an id is
// sorted, which takes as long as to copy 80 times its bytes, or to look up 54 times.
constexpr double kCopiesOfId = 80.0;
constexpr double kLookUpsOfId = 54.0;
constexpr double kIdsOfWeights = 1.0 / 6.0;  // Sorted beside ids, but as plain copies.
// Rows that are read once more to make gradients of weights: from memory each that is touched, and
// such a part of the other lookups.
constexpr double kMisses = 0.1;

// Sorting the ids of the rows moves them so many times: the traffic features grow by it, which
// need be right in their order of magnitude only.
constexpr double kTransfersOfIds = 8.0;

const std::vector<std::string>& traffic_feature_names() {
  static const std::vector<std::string>& names = *new std::vector<std::string>([] {
    std::vector<std::string> list{"ids_mib",           "looked_up_mib",    "touched_mib",
                                  "output_mib",        "traffic_log_rows", "traffic_log_touched",
                                  "traffic_log_output"};
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      list.push_back("traffic_bin_" + std::to_string(bin));
    }
    return list;
  }());
  return names;
}

// Around 0 where most tables are: 1 MiB to 256 MiB.
double scaled_log(double value, double middle) {
  constexpr double kOctaves = 4.0;
  return (std::log2(std::max(value, 1.0)) - middle) / kOctaves;
}

/// `profile`: of `samples` samples. docs/weights_format.md explains each number.
std::array<float, kTrafficFeatures> traffic_features(const Table& table,
                                                     const AccessProfile& profile, double samples,
                                                     int dim) {
  const double row_bytes = touched_row_bytes(table.memory, dim);
  double ids = profile.lookups * kBytesPerId / kMib;
  const double looked_up =
      profile.lookups * looked_up_row_bytes(table.memory.weight_type, dim) / kMib;
  const double touched = profile.distinct_rows * row_bytes / kMib;
  const double output = samples * outputs_per_sample(table) * fp32_row_bytes(dim) / kMib;
  if (table.weighted) {
    const double reads = std::lerp(profile.distinct_rows, profile.lookups, kMisses);
    const double read_again =
        reads * counted_weight_row_bytes(table.memory.weight_type, dim) / kMib;
    ids += kIdsOfWeights * ids + (read_again + output) / kLookUpsOfId;
  }
  // Gradients are read, divided and written.
  if (table.pooling == Pooling::kMean) ids += 2.0 * output / kCopiesOfId;
  const double traffic = kTransfersOfIds * ids + looked_up + touched + output;
  std::array<float, kTrafficFeatures> features{};
  std::size_t next = 0;
  const auto put = [&](double value) { features[next++] = static_cast<float>(value); };
  put(ids);
  put(looked_up);
  put(touched);
  put(output);
  put(traffic * scaled_log(static_cast<double>(table.rows), 20.0));
  put(traffic * scaled_log(touched * kMib, 24.0));
  put(traffic * scaled_log(output * kMib, 24.0));
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double share =
        profile.lookups > 0.0 ? profile.rows[bin] * profile.touches[bin] / profile.lookups : 0.0;
    put(traffic * share);
  }
  return features;
}

}  // namespace

std::span<const std::string> table_feature_names(int count) {
  if (count == kTableFeatures) return feature_order().names;
  if (count == kTrafficFeatures) return traffic_feature_names();
  throw Error("no set of table features has " + std::to_string(count) + "; there are " +
              std::to_string(kTableFeatures) + " published ones and " +
              std::to_string(kTrafficFeatures) + " of traffic");
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
  if (count_ == kTrafficFeatures) scale_ = std::make_unique<const HistogramScale>(samples);
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
    const auto row = traffic_features(table, profile, samples_, dim);
    features.insert(features.end(), row.begin(), row.end());
  }
}

}  // namespace neuroshard
