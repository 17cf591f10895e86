#include "core/slice_prices.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace neuroshard {
namespace {

constexpr std::array kKindsOfBlocks = {ShardingKind::kRow, ShardingKind::kTableRow,
                                       ShardingKind::kGrid};

}  // namespace

double priced_ms(const KindPrice& price, const Table& table, int dim, double share,
                 double samples) {
  return price.price_ms(shard_amounts(samples, dim, table.pooling_factor, share));
}

SlicePrices::SlicePrices(const Backend& backend, const Task& task, const Plan& plan) : task_(task) {
  const bool any = std::ranges::any_of(
      kKindsOfBlocks, [&](ShardingKind kind) { return backend.kind_price(kind) != nullptr; });
  if (!any || !has_row_blocks(task, plan)) return;
  for (const std::vector<ShardingKind>& kinds : sharding_kinds(task, plan)) {
    const KindPrice*& price = of_table_.emplace_back(nullptr);
    for (const ShardingKind kind : kKindsOfBlocks) {
      if (price == nullptr && std::ranges::find(kinds, kind) != kinds.end()) {
        price = backend.kind_price(kind);
      }
    }
  }
}

std::optional<double> SlicePrices::ms_of(const TableSlice& slice) const {
  if (of_table_.empty() || !is_row_block(task_, slice)) return std::nullopt;
  const auto t = static_cast<std::size_t>(slice.table);
  if (of_table_[t] == nullptr) return std::nullopt;
  const Table& table = task_.tables[t];
  return priced_ms(*of_table_[t], table, slice.dim,
                   lookup_share(table, slice.first_row, slice.rows),
                   static_cast<double>(task_.batch_size));
}

}  // namespace neuroshard
