#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/tables/id_columns.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// Lookups per sample, in units so small that rounding does not matter, and whole, so that sums do
/// not depend on their order.
[[nodiscard]] std::int64_t lookup_units(double pooling_factor);

[[nodiscard]] double lookups_of(std::int64_t lookup_units);

/// So many lookup_units() have ids of as many bytes as the ids of a sample's lookups in `table`,
/// with weights beside them if it has any.
[[nodiscard]] std::int64_t id_units(const Table& table, const ExchangeTypes& types);

/// Lookups of the device that the others wait for: most of all devices, or what NodeColumns sees as
/// that. `lookups` is [devices]; `nodes` may be null.
[[nodiscard]] std::int64_t most_lookups_seen(const NodeColumns* nodes,
                                             std::span<const std::int64_t> lookups);

/// Time that the exchange of ids takes, by a model of its own or by the backward communication
/// model.
class IdExchange {
 public:
  /// Borrows `backend`.
  IdExchange(const Backend& backend, int devices);

  [[nodiscard]] bool priced() const { return models_ != nullptr; }

  /// The busiest device is sent so many id_units(). All devices wait for it, so it
  /// costs what it would if all were as busy. 0 if the models do not price ids.
  [[nodiscard]] double ms(std::int64_t lookup_units);

 private:
  /// Ids of as many bytes as so many columns of gradients have.
  [[nodiscard]] double of_columns(double columns);

  int devices_;
  ExchangeTypes types_;
  double bytes_of_column_;        ///< On all samples.
  const CollectiveModel* model_;  ///< Null: the backward model prices ids.
  double most_columns_;
  std::unique_ptr<CostRunner> models_;  ///< Null: ids cost nothing.
  struct Remembered {
    std::int64_t columns = -1;
    double ms = 0.0;
  };
  std::vector<Remembered> remembered_;
};

}  // namespace neuroshard
