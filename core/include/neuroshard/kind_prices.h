#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "neuroshard/sharding_kind.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Amounts that a shard of a table is priced by; all but the first in GiB.
enum class ShardAmount {
  kShard,     ///< 1: for being there.
  kIds,       ///< 8 bytes for each of its lookups, 12 if they are weighted.
  kLookedUp,  ///< 4 bytes for each column of each of its lookups.
  kOutputs,   ///< 4 bytes for each column of each output: at most one for each lookup.
  kTableIds   ///< As kIds for each lookup of the table, other shards' included.
};
inline constexpr std::size_t kShardAmounts = 5;
using ShardAmounts = std::array<double, kShardAmounts>;

/// Amounts of `dim` columns of a table with `pooling_factor` lookups a sample, for `samples`
/// samples. The shard has the part `share` of the lookups and makes `outputs` rows of outputs.
[[nodiscard]] ShardAmounts shard_amounts(double samples, int dim, double pooling_factor,
                                         double outputs, double share, double id_bytes = 8.0);

/// Price of a shard on its device, with all that it sends, in milliseconds for each unit of its
/// amounts. It serves sources whose costs add up so: the cost of a device is then the sum over its
/// shards.
struct KindPrice {
  ShardAmounts ms{};

  [[nodiscard]] double price_ms(const ShardAmounts& amounts) const;
};

/// Prices of shards that are no columns. kRow prices row blocks over all devices. kTableRow prices
/// row blocks over the devices of a node, whether columns are cut, too (kGrid) or not. kReplicate
/// prices a replica, for a device's part of the batch, but for its gradients
/// (CostModels::all_reduce).
/// Shards of kinds without a price are predicted by the compute and communication models.
using KindPrices = std::map<ShardingKind, KindPrice>;

/// Throws Error unless each kind is one of these three, and its numbers are finite and not
/// negative.
void validate(const KindPrices& prices, const std::string& where = "");

}  // namespace neuroshard
#pragma GCC visibility pop
