#include "neuroshard/kind_prices.h"

#include <algorithm>
#include <cmath>

#include "core/tables/stated_gib.h"
#include "neuroshard/error.h"

namespace neuroshard {

ShardAmounts shard_amounts(double samples, int dim, double pooling_factor, double outputs,
                           double share, double id_bytes) {
  constexpr double kNumberBytes = 4.0;
  const double lookups = samples * pooling_factor / kGib;
  return {1.0, id_bytes * lookups * share, kNumberBytes * dim * lookups * share,
          kNumberBytes * dim * samples * std::min(outputs, pooling_factor) / kGib,
          id_bytes * lookups};
}

double KindPrice::price_ms(const ShardAmounts& amounts) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < kShardAmounts; ++i) sum += ms[i] * amounts[i];
  return sum;
}

void validate(const KindPrices& prices, const std::string& where) {
  const std::string label = (where.empty() ? "" : where + ": ") + "price of kind '";
  for (const auto& [kind, price] : prices) {
    const std::string of_kind = label + std::string(name_of(kind)) + "'";
    if (kind != ShardingKind::kRow && kind != ShardingKind::kTableRow &&
        kind != ShardingKind::kReplicate) {
      throw Error(of_kind + ": only row, table_row and replicate have prices; remove it");
    }
    for (const double ms : price.ms) {
      if (std::isfinite(ms) && ms >= 0.0) continue;
      throw Error(of_kind + ": one of its numbers is " + std::to_string(ms) +
                  "; all must be finite and not negative");
    }
  }
}

}  // namespace neuroshard
