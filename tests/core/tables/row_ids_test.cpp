#include "core/tables/row_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace neuroshard {
namespace {

using Row = std::vector<std::uint32_t>;

// Few values and lengths, so that rows come again and are beginnings of each other.
Row random_row(std::mt19937& random) {
  Row row(random() % 7);
  for (std::uint32_t& value : row) value = random() % 5;
  return row;
}

TEST(RowIds, NumberRowsAsAMapDoes) {
  RowIds ids;
  std::mt19937 random(1);
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    std::map<Row, std::uint32_t> known;
    for (int i = 0; i < 20000; ++i) {
      const Row row = random_row(random);
      const auto next = static_cast<std::uint32_t>(known.size());
      const auto [entry, is_new] = known.emplace(row, next);
      ASSERT_EQ(ids.find_or_add(row), entry->second);
      ASSERT_EQ(ids.size(), known.size());
    }
    EXPECT_GT(ids.size(), 4096U);  // More than it has slots for at first.
    for (const auto& [row, id] : known) EXPECT_TRUE(std::ranges::equal(ids.row(id), row));
    EXPECT_GE(ids.held_bytes(), ids.bytes() / 2);
    ids.clear();
    EXPECT_EQ(ids.size(), 0U);
    EXPECT_EQ(ids.bytes(), 0U);
  }
}

TEST(RowIds, AnEmptyRowIsARow) {
  RowIds ids;
  EXPECT_EQ(ids.find_or_add(Row{}), 0U);
  EXPECT_EQ(ids.find_or_add(Row{0}), 1U);
  EXPECT_EQ(ids.find_or_add(Row{0, 0}), 2U);
  EXPECT_EQ(ids.find_or_add(Row{}), 0U);
  EXPECT_TRUE(ids.row(0).empty());
}

}  // namespace
}  // namespace neuroshard
