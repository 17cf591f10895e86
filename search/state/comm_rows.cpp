#include "search/state/comm_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>

#include "core/models/symmetric_comm_features.h"

namespace neuroshard {
namespace {

constexpr std::size_t kBackwardCosts = 4096;

}  // namespace

// Chains of sums and comparisons need not wait for each other. Sums of multiples of a sixteenth are
// exact in any order.
ColumnRange range_of(std::span<const float> columns) {
  constexpr std::size_t kChains = 8;
  std::array<double, kChains> sums{};
  std::array<float, kChains> most;
  std::array<float, kChains> least;
  most.fill(columns[0]);
  least.fill(columns[0]);
  const auto take = [&](std::size_t chain, float of_device) {
    sums[chain] += static_cast<double>(of_device);
    most[chain] = std::max(most[chain], of_device);
    least[chain] = std::min(least[chain], of_device);
  };
  std::size_t d = 0;
  for (; d + kChains <= columns.size(); d += kChains) {
    for (std::size_t chain = 0; chain < kChains; ++chain) take(chain, columns[d + chain]);
  }
  for (; d < columns.size(); ++d) take(0, columns[d]);
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  return {.mean = static_cast<float>(sum / static_cast<double>(columns.size())),
          .most = std::ranges::max(most),
          .least = std::ranges::min(least)};
}

CommRows::CommRows(CostRunner& models, int devices)
    : models_(models), log2_devices_(log2_of_devices(devices)), remembered_(kBackwardCosts) {}

// Columns recur: most backward costs have been asked for lately.
void CommRows::ask_backward(float columns, const ColumnRange& range, float* to) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const std::uint32_t hash = bits(columns) * 2654435761U ^ bits(range.most) * 2246822519U ^
                             bits(range.least) * 3266489917U ^ bits(range.mean) * 668265263U;
  const std::size_t at = (hash >> 16U) % kBackwardCosts;
  const Remembered& entry = remembered_[at];
  if (entry.columns == columns && entry.range == range) {
    *to = entry.ms;
    return;
  }
  missing_.push_back({to, at});
  const std::array<float, kSymmetricCommFeatures> row = {
      columns, 0.0F, range.mean, range.most, range.least, 0.0F, 0.0F, log2_devices_};
  backward_rows_.insert(backward_rows_.end(), row.begin(), row.end());
}

void CommRows::answer_backward() {
  if (missing_.empty()) return;
  backward_answers_.resize(missing_.size());
  models_.backward_rows(backward_rows_, backward_answers_);
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    const float* const row = backward_rows_.data() + i * kSymmetricCommFeatures;
    *missing_[i].to = backward_answers_[i];
    remembered_[missing_[i].entry] = {row[0], {row[2], row[3], row[4]}, backward_answers_[i]};
  }
  missing_.clear();
  backward_rows_.clear();
}

void CommRows::ask_forward(float columns, double offset_ms, const ColumnRange& range,
                           double mean_offset_ms, double most_offset_ms) {
  const std::array<float, kSymmetricCommFeatures> row = {columns,
                                                         static_cast<float>(offset_ms),
                                                         range.mean,
                                                         range.most,
                                                         range.least,
                                                         static_cast<float>(mean_offset_ms),
                                                         static_cast<float>(most_offset_ms),
                                                         log2_devices_};
  forward_rows_.insert(forward_rows_.end(), row.begin(), row.end());
}

const std::vector<float>& CommRows::answer_forward() {
  const std::size_t rows = forward_rows_.size() / kSymmetricCommFeatures;
  forward_answers_.resize(rows);
  if (rows > 0) models_.forward_rows(forward_rows_, forward_answers_);
  forward_rows_.clear();
  return forward_answers_;
}

}  // namespace neuroshard
