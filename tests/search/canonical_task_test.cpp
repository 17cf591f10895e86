#include "search/canonical_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

auto contents(const Table& table) {
  return std::tie(table.rows, table.dim, table.pooling_factor, table.access_histogram);
}

TEST(CanonicalTask, IsTheSameForEveryOrderAndNamesItsTables) {
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(200))) {
    Task listed = testing::random_task(seed);
    const BundledTask first = canonical_task(listed);
    std::shuffle(listed.tables.begin(), listed.tables.end(), std::mt19937_64(seed));
    for (Table& table : listed.tables) table.name = "renamed";
    const BundledTask second = canonical_task(listed);

    EXPECT_EQ(second.task.devices, listed.devices);
    EXPECT_EQ(second.task.memory_bytes, listed.memory_bytes);
    ASSERT_EQ(second.task.tables.size(), listed.tables.size());
    std::vector<bool> seen(listed.tables.size());
    for (std::size_t t = 0; t < listed.tables.size(); ++t) {
      const Table& table = second.task.tables[t];
      EXPECT_TRUE(contents(table) == contents(first.task.tables[t]));
      EXPECT_TRUE(contents(table) == contents(listed.tables[second.original[t]]));
      EXPECT_TRUE(table.name.empty());
      EXPECT_FALSE(seen[second.original[t]]);
      seen[second.original[t]] = true;
    }
  }
}

}  // namespace
}  // namespace neuroshard
