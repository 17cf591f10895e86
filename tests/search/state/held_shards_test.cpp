#include "search/state/held_shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/weights.h"
#include "search/canonical_task.h"

namespace neuroshard {
namespace {

Task task_of_many_tables() {
  Task task{.devices = 2};
  for (int i = 0; i < 40; ++i) {
    Table& table = task.tables.emplace_back();
    table.rows = 1000 + 977 * i;
    table.dim = 64;
    table.pooling_factor = 1.0 + i;
  }
  return task;
}

// Beside a list of the same shards, some hundreds of them, that is added up from its beginning.
TEST(HeldShards, SumsAreThoseOfWhatIsHeld) {
  const BundledTask canonical = canonical_task(task_of_many_tables());
  const auto backend = make_cpu_backend(builtin_weights());
  ShardCatalog catalog(*backend, canonical);
  Random random(7);
  HeldShards held;
  std::vector<int> list;
  AlignedVector<float> sum(catalog.embedding_width());
  std::size_t most = 0;
  for (int step = 0; step < 3000; ++step) {
    // First more of them come than go, in the end all are gone.
    const bool comes = list.empty() || (step < 1500 && random.below(3) > 0);
    if (comes) {
      const int table = static_cast<int>(random.below(40));
      list.push_back(
          catalog.shard(catalog.all_rows(table), 4 * (1 + static_cast<int>(random.below(16)))));
      held.add(catalog, list.back());
    } else {
      const std::size_t at = random.below(list.size());
      held.take_out(catalog, list[at]);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    }
    most = std::max(most, list.size());
    ASSERT_EQ(held.size(), list.size());
    if (random.below(3) > 0) continue;  // Several changes between two sums.
    held.sum_up(catalog, sum.data());
    ShardLoad load;
    std::vector<double> expected(sum.size(), 0.0);
    std::vector<double> size(sum.size(), 0.0);
    for (const int shard : list) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        expected[i] += catalog.embedding(shard)[i];
        size[i] += std::abs(catalog.embedding(shard)[i]);
      }
      load.bytes += catalog.load(shard).bytes;
      load.ids += catalog.load(shard).ids;
      load.columns += catalog.load(shard).columns;
      load.price_ms += catalog.load(shard).price_ms;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(sum[i], expected[i], 1e-5 * size[i] + 1e-6) << step << ", " << list.size();
    }
    ASSERT_EQ(held.bytes(), load.bytes);
    ASSERT_EQ(held.ids(), load.ids);
    ASSERT_EQ(held.columns(), load.columns);
    ASSERT_NEAR(held.price_ms(), load.price_ms, 1e-9);
  }
  EXPECT_GT(most, 300U);
}

}  // namespace
}  // namespace neuroshard
