#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Estimated prices of more columns and ids: all but latencies.
struct ExchangePrices {
  double column_ms = 0.0;  ///< Of one more column on every device, in both all-to-alls of outputs.
  double id_column_ms = 0.0;  ///< Of ids that take as much as a column.

  /// `pooling_factor` lookups a sample.
  [[nodiscard]] double ids_ms(double pooling_factor) const;
};

/// At as many columns and lookups a sample as all devices together have.
[[nodiscard]] ExchangePrices exchange_prices(const Backend& backend, int devices, double columns,
                                             double lookups);
/// At those of `plan`; or of tables that are not cut.
[[nodiscard]] ExchangePrices exchange_prices(const Backend& backend, const PlanCost& plan);
[[nodiscard]] ExchangePrices exchange_prices(const Backend& backend, const Task& task);

/// Operator costs of some sets of tables, [sets], less that of no table. `features`: [tables,
/// features of the backend]; set s has the tables from offsets[s] to offsets[s + 1].
[[nodiscard]] std::vector<double> operator_ms(const Backend& backend,
                                              std::span<const float> features,
                                              std::vector<std::uint32_t> offsets);

/// Operator costs of each table alone, [tables].
[[nodiscard]] std::vector<double> operator_ms(const Backend& backend,
                                              std::span<const float> features);

/// Operator costs of each of `tables`, or of slices with all rows. Empty once `stop` is reached.
[[nodiscard]] std::vector<double> operator_ms(const Backend& backend, const Task& task,
                                              std::span<const Table> tables,
                                              const StopCondition& stop = {});

}  // namespace neuroshard
