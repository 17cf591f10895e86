#include "search/parts/table_loads.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/plans/id_exchange.h"
#include "neuroshard/table_features.h"

namespace neuroshard {
namespace {

double column_ms(const Backend& backend, int devices, double columns) {
  const auto count = static_cast<std::size_t>(devices);
  const double most = std::max(columns / devices, 1.0);
  const std::vector<float> offsets_ms(count, 0.0F);
  std::vector<float> ms(count);
  const auto exchange_ms = [&](double dim_sum) {
    const std::vector<float> dim_sums(count, static_cast<float>(dim_sum));
    backend.backward_comm(devices, dim_sums, ms);
    const double backward_ms = ms.front();
    backend.forward_comm(devices, dim_sums, offsets_ms, ms);
    return backward_ms + static_cast<double>(ms.front());
  };
  return std::max(0.0, (exchange_ms(most) - exchange_ms(most / 2)) / (most / 2));
}

double id_column_ms(const Backend& backend, int devices, double lookups) {
  IdExchange exchange(backend, devices);
  const std::int64_t most = std::max<std::int64_t>(2, id_columns(lookup_units(lookups / devices)));
  const std::int64_t half = most / 2;
  return std::max(0.0, (exchange.ms(most) - exchange.ms(half)) / static_cast<double>(most - half));
}

}  // namespace

double ExchangePrices::ids_ms(double pooling_factor) const {
  return id_column_ms * static_cast<double>(id_columns(lookup_units(pooling_factor)));
}

ExchangePrices exchange_prices(const Backend& backend, int devices, double columns,
                               double lookups) {
  return {column_ms(backend, devices, columns), id_column_ms(backend, devices, lookups)};
}

ExchangePrices exchange_prices(const Backend& backend, const PlanCost& plan) {
  double columns = 0.0;
  double lookups = 0.0;
  for (const DeviceCost& device : plan.devices) {
    columns += static_cast<double>(device.dim_sum);
    lookups += device.lookups;
  }
  return exchange_prices(backend, static_cast<int>(plan.devices.size()), columns, lookups);
}

ExchangePrices exchange_prices(const Backend& backend, const Task& task) {
  double columns = 0.0;
  double lookups = 0.0;
  for (const Table& table : task.tables) {
    columns += table.dim;
    lookups += table.pooling_factor;
  }
  return exchange_prices(backend, task.devices, columns, lookups);
}

std::vector<double> operator_ms(const Backend& backend, std::span<const float> features,
                                std::vector<std::uint32_t> offsets) {
  const std::size_t sets = offsets.size() - 1;
  const std::size_t tables = offsets.back();
  offsets.push_back(offsets.back());  // The last shard is empty.
  std::vector<float> embeddings(tables * static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings);
  std::vector<std::uint32_t> ids(tables);
  std::iota(ids.begin(), ids.end(), 0U);
  std::vector<float> ms(sets + 1);
  backend.score_shards(embeddings, {offsets, ids}, ms);
  std::vector<double> more_ms;
  for (std::size_t i = 0; i < sets; ++i) {
    more_ms.push_back(std::max(0.0, static_cast<double>(ms[i]) - static_cast<double>(ms.back())));
  }
  return more_ms;
}

std::vector<double> operator_ms(const Backend& backend, std::span<const float> features) {
  const std::size_t tables = features.size() / static_cast<std::size_t>(backend.table_features());
  std::vector<std::uint32_t> offsets(tables + 1);
  std::iota(offsets.begin(), offsets.end(), 0U);
  return operator_ms(backend, features, std::move(offsets));
}

std::vector<double> operator_ms(const Backend& backend, const Task& task,
                                std::span<const Table> tables, const StopCondition& stop) {
  const OperatorFeatures of_operator(backend.table_features(),
                                     static_cast<double>(task.batch_size));
  std::vector<float> features;
  features.reserve(tables.size() * static_cast<std::size_t>(backend.table_features()));
  for (const Table& table : tables) {
    if (stop.reached()) return {};
    of_operator.append(table, table.dim, features);
  }
  return operator_ms(backend, features);
}

}  // namespace neuroshard
