#include "core/plans/slice_prices.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/tables/lookup_bytes.h"

namespace neuroshard {
namespace {

constexpr std::array kKindsOfBlocks = {ShardingKind::kRow, ShardingKind::kTableRow,
                                       ShardingKind::kGrid};

bool prices_blocks(const Backend& backend) {
  return std::ranges::any_of(
      kKindsOfBlocks, [&](ShardingKind kind) { return backend.kind_price(kind) != nullptr; });
}

}  // namespace

const KindPrice* price_of_blocks(const Backend& backend, std::span<const ShardingKind> kinds) {
  for (const ShardingKind kind : kKindsOfBlocks) {
    if (std::ranges::find(kinds, kind) == kinds.end()) continue;
    if (const KindPrice* price = backend.kind_price(kind)) return price;
  }
  return nullptr;
}

const KindPrice* price_of_blocks(const Backend& backend, const Task& task,
                                 std::span<const HeldSlice> held) {
  return prices_blocks(backend) ? price_of_blocks(backend, kinds_of_slices(task, held)) : nullptr;
}

double priced_ms(const KindPrice& price, const Table& table, int dim, double share,
                 double samples) {
  // A block sums up a part of each bag, but looks up a part of what is not pooled.
  const double part = table.pooling == Pooling::kNone ? share : 1.0;
  return price.price_ms(shard_amounts(samples, dim, table.pooling_factor,
                                      outputs_per_sample(table) * part, share,
                                      lookup_bytes(table)));
}

SlicePrices::SlicePrices(const Backend& backend, const Task& task, const Plan& plan) : task_(task) {
  if (!prices_blocks(backend) || !has_row_blocks(task, plan)) return;
  for (const std::vector<ShardingKind>& kinds : sharding_kinds(task, plan)) {
    of_table_.push_back(price_of_blocks(backend, kinds));
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

void score_with_prices(const Backend& backend, std::span<const float> embeddings,
                       const ShardBatch& shards, std::span<const std::optional<double>> prices_ms,
                       std::span<float> cost_ms) {
  if (std::ranges::none_of(prices_ms, [](const auto& price_ms) { return price_ms.has_value(); })) {
    return backend.score_shards(embeddings, shards, cost_ms);
  }
  std::vector<std::uint32_t> offsets{0};  // Offsets of the shards in the pieces without a price.
  std::vector<std::uint32_t> piece_ids;
  std::vector<double> priced_ms(shards.size());
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    for (std::uint32_t i = shards.offsets[shard]; i < shards.offsets[shard + 1]; ++i) {
      const std::uint32_t piece = shards.piece_ids[i];
      if (const std::optional<double>& price_ms = prices_ms[piece]) {
        priced_ms[shard] += *price_ms;
      } else {
        piece_ids.push_back(piece);
      }
    }
    offsets.push_back(static_cast<std::uint32_t>(piece_ids.size()));
  }
  backend.score_shards(embeddings, {offsets, piece_ids}, cost_ms);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    cost_ms[shard] += static_cast<float>(priced_ms[shard]);
  }
}

}  // namespace neuroshard
