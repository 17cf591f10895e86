#include "weights/collection/placed_shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "neuroshard/evaluation.h"
#include "neuroshard/training_data.h"
#include "neuroshard/weights.h"
#include "weights/collection/sample_draws.h"
#include "weights/lookups/wide_population.h"

namespace neuroshard {
namespace {

constexpr int kMaxDim = 256;

std::vector<Table> wide_tables_at_all_dims() {
  return augment_dims(draw_wide_population({.tables = 200, .seed = 5}), kMaxDim);
}

TEST(PlacedShards, HaveAllColumnsOfTheirTables) {
  const std::vector<Table> tables = wide_tables_at_all_dims();
  const std::unique_ptr<Backend> backend = make_cpu_backend(builtin_weights());
  const std::size_t drawn_from = tables.size() / dim_levels(kMaxDim).size();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<DrawnShard> shards = draw_placed_shards(*backend, tables, kMaxDim, 1, seed);
    ASSERT_FALSE(shards.empty());
    ASSERT_LE(shards.size(), 16u);
    std::map<std::size_t, int> columns;
    for (const DrawnShard& shard : shards) {
      EXPECT_FALSE(shard.ids.empty());
      EXPECT_EQ(shard.served, shards.front().served);
      for (const int id : shard.ids) {
        columns[static_cast<std::size_t>(id) % drawn_from] += tables.at(id).dim;
      }
    }
    // A table that is drawn once has a dim of the levels; few are drawn more often.
    const auto is_level = [&](const auto& of_table) {
      return std::ranges::count(dim_levels(kMaxDim), of_table.second) > 0;
    };
    EXPECT_GT(std::ranges::count_if(columns, is_level), static_cast<int>(columns.size() / 2));
  }
}

/// By predictions, which are of samples whose costs play no role.
double sum_of_squares(const Backend& backend, const std::vector<Table>& tables,
                      const std::vector<DrawnShard>& shards) {
  ComputeSamples samples;
  samples.tables = tables;
  for (const DrawnShard& shard : shards) {
    samples.served.push_back(shard.served);
    samples.table_ids.insert(samples.table_ids.end(), shard.ids.begin(), shard.ids.end());
    samples.offsets.push_back(samples.table_ids.size());
    samples.cost_ms.push_back(1.0F);
  }
  double sum = 0.0;
  for (const float ms : evaluate_compute(backend, samples).predicted_ms) sum += ms * ms;
  return sum;
}

TEST(PlacedShards, AreInBalanceByPredictions) {
  const std::vector<Table> tables = wide_tables_at_all_dims();
  const std::unique_ptr<Backend> backend = make_cpu_backend(builtin_weights());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<DrawnShard> shards = draw_placed_shards(*backend, tables, kMaxDim, 1, seed);
    const double placed = sum_of_squares(*backend, tables, shards);
    std::vector<int> all;
    for (DrawnShard& shard : shards) {
      all.insert(all.end(), shard.ids.begin(), shard.ids.end());
      shard.ids.clear();
    }
    for (std::size_t i = 0; i < all.size(); ++i) shards[i % shards.size()].ids.push_back(all[i]);
    EXPECT_LE(placed, sum_of_squares(*backend, tables, shards)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace neuroshard
