#include "core/plans/id_exchange.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/models/symmetric_comm_features.h"
#include "core/tables/lookup_bytes.h"

namespace neuroshard {
namespace {

constexpr double kMostLookups = 1e6;  // Keeps sums of 2^23 slices within 64 bits.
constexpr std::size_t kMostRemembered = 256;

double predicted_ms(CostRunner& models, int devices, double columns) {
  const auto width = static_cast<float>(columns);
  float ms = 0.0F;
  if (models.symmetric()) {
    const std::array<float, kSymmetricCommFeatures> row = {
        width, 0.0F, width, width, width, 0.0F, 0.0F, log2_of_devices(devices)};
    models.backward_rows(row, {&ms, 1});
  } else {
    std::vector<float> all_ms(static_cast<std::size_t>(devices));
    models.backward(std::vector<float>(all_ms.size(), width), all_ms);
    ms = *std::ranges::max_element(all_ms);
  }
  return ms;
}

}  // namespace

std::int64_t lookup_units(double pooling_factor) {
  return std::llround(std::min(pooling_factor, kMostLookups) * kUnitsOfLookup);
}

double lookups_of(std::int64_t lookup_units) {
  return static_cast<double>(lookup_units) / kUnitsOfLookup;
}

std::int64_t id_units(const Table& table, const ExchangeTypes& types) {
  const double ids = 1.0 + (table.weighted ? kLookupWeightBytes / wire_bytes(types.ids) : 0.0);
  return lookup_units(table.pooling_factor * ids);
}

std::int64_t most_lookups_seen(const NodeColumns* nodes, std::span<const std::int64_t> lookups) {
  return nodes == nullptr ? std::ranges::max(lookups) : nodes->most_seen(lookups);
}

IdExchange::IdExchange(const Backend& backend, int devices)
    : devices_(devices),
      types_(backend.comm_setting().exchange),
      bytes_of_column_(types_.backward_column_bytes() *
                       static_cast<double>(backend.comm_setting().batch_size)),
      model_(backend.ids()),
      most_columns_(kMostSeenColumns * backend.comm_setting().column_unit),
      remembered_(backend.prices_ids() ? kMostRemembered : 0) {
  if (backend.prices_ids()) models_ = backend.cost_runner(devices);
}

double IdExchange::ms(std::int64_t lookup_units) {
  if (!priced()) return 0.0;
  const std::int64_t columns = id_columns(lookup_units, types_);
  Remembered& entry = remembered_[static_cast<std::size_t>(columns) % kMostRemembered];
  if (entry.columns == columns) return entry.ms;
  entry = {columns, of_columns(static_cast<double>(columns))};
  return entry.ms;
}

double IdExchange::of_columns(double columns) {
  if (model_ != nullptr) return model_->cost_ms(devices_, columns * bytes_of_column_);
  const double ms = predicted_ms(*models_, devices_, std::min(columns, most_columns_));
  if (columns <= most_columns_) return ms;
  // An all-to-all takes a latency and a time in proportion to its bytes.
  const double factor = columns / most_columns_;
  return factor * ms + (1.0 - factor) * predicted_ms(*models_, devices_, 0.0);
}

}  // namespace neuroshard
