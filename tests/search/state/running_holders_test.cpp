#include "search/state/running_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

Table table(const std::string& name, std::int64_t rows, int dim) {
  Table table{.name = name, .rows = rows, .dim = dim, .pooling_factor = 1.0};
  table.access_histogram[0] = 1.0;
  return table;
}

Task task_of(std::vector<Table> tables, int devices) {
  return {.tables = std::move(tables), .devices = devices, .memory_bytes = std::int64_t{1} << 40};
}

// Table a is halved over devices 0 and 2, b is on device 1.
RunningPlan running_example() {
  Task task = task_of({table("a", 100, 16), table("b", 10, 8)}, 3);
  Plan plan{.slices = {{0, 0, 8, 0, 100}, {1, 0, 8, 0, 10}, {0, 8, 8, 0, 100}},
            .shards = {{0}, {1}, {2}}};
  return {.task = std::move(task), .plan = std::move(plan), .lost_devices = {}};
}

TEST(RunningHolders, KnowsTablesByNameAndDimAndDevicesByWhatIsLost) {
  RunningPlan running = running_example();
  running.lost_devices = {1};
  // b is listed first, a has grown, c is new, and so is another a.
  const Task task =
      task_of({table("b", 10, 8), table("a", 150, 16), table("c", 5, 4), table("a", 100, 16)}, 3);
  const RunningHolders holders(task, running);
  EXPECT_EQ(holders.before(0), 1U);
  EXPECT_EQ(holders.before(1), 0U);
  EXPECT_EQ(holders.before(2), std::nullopt);
  EXPECT_EQ(holders.before(3), std::nullopt);
  ASSERT_EQ(holders.slices(0).size(), 1U);
  EXPECT_EQ(holders.slices(0)[0].device, std::nullopt);
  ASSERT_EQ(holders.slices(1).size(), 2U);
  EXPECT_EQ(holders.slices(1)[0].device, 0U);
  EXPECT_EQ(holders.slices(1)[1].device, 1U);  // Was device 2.
  EXPECT_EQ(holders.places().devices_left, 2);
  EXPECT_EQ(holders.kept_rows(1), 100);
  const std::vector<std::int64_t> missing = {10 * 8 * 4, 50 * 16 * 4, 5 * 4 * 4, 100 * 16 * 4};
  for (std::size_t t = 0; t < missing.size(); ++t) {
    EXPECT_EQ(holders.missing_bytes(t), missing[t]);
  }
  // Device 0 has the first half of what it had of 100 rows.
  EXPECT_EQ(holders.moved_bytes({1, 0, 16, 0, 150}, 0), (100 * 8 + 50 * 16) * 4);
  std::vector<TableMove> moves;
  holders.add_moves({1, 0, 16, 0, 150}, 0, moves);
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].columns, (TableColumns{1, 8, 8}));
  EXPECT_EQ(moves[0].from, 1);
  EXPECT_EQ(moves[1].from, -1);
  EXPECT_EQ(moves[1].first_row, 100);
}

TEST(RunningHolders, ATableOfAnotherDimIsNew) {
  const Task task = task_of({table("a", 100, 32), table("b", 10, 8)}, 3);
  const RunningPlan running = running_example();
  const RunningHolders holders(task, running);
  EXPECT_TRUE(holders.slices(0).empty());
  EXPECT_EQ(holders.missing_bytes(0), 100 * 32 * 4);
  EXPECT_EQ(holders.missing_bytes(1), 0);
}

// With other rows a device would train on what it has of another table.
TEST(RunningHolders, RefusesTablesOfOneNameWhoseOrderDoesNotSayWhichIsWhich) {
  const auto running = [](std::vector<Table> tables) { return task_of(std::move(tables), 2); };
  const auto message = [](const Task& task, const Task& before) {
    return message_of([&] { (void)running_tables(task, before); });
  };
  const Task before = running({table("", 100, 16), table("a", 10, 8), table("", 200, 16)});
  using Found = std::vector<std::optional<std::size_t>>;
  EXPECT_EQ(running_tables(before, before), (Found{0, 1, 2}));
  const Task more = running({table("", 150, 16), table("", 200, 16), table("", 7, 4)});
  EXPECT_EQ(running_tables(more, before), (Found{0, 2, std::nullopt}));
  EXPECT_THAT(message(running({table("", 200, 16), table("a", 10, 8)}), before),
              HasSubstr("2 tables of the running plan and 1 of the task have no name"));
  const Task fewer_rows = running({table("", 200, 16), table("", 100, 16)});
  EXPECT_THAT(message(fewer_rows, before), HasSubstr("give each table a name of its own"));
  const Task other_dim = running({table("", 100, 16), table("", 200, 8)});
  EXPECT_THAT(message(other_dim, before), HasSubstr("give each table a name of its own"));
  const Task named = running({table("x", 5, 4), table("x", 5, 4)});
  EXPECT_THAT(message(running({table("x", 5, 4)}), named), HasSubstr("have the name 'x'"));
  EXPECT_EQ(running_tables(running({table("y", 5, 4)}), named), Found{std::nullopt});
}

TEST(RunningHolders, RefusesDevicesThatDoNotAddUp) {
  const Task task = task_of({table("a", 100, 16)}, 2);
  const auto message = [&](std::vector<int> lost) {
    RunningPlan running = running_example();
    running.lost_devices = std::move(lost);
    return message_of([&] { RunningHolders(task, running); });
  };
  EXPECT_EQ(
      message({3}),
      "lost device 3: the running plan has devices 0 to 2; give those numbers that it had there "
      "(--lost-devices)");
  EXPECT_EQ(
      message({-1}),
      "lost device -1: the running plan has devices 0 to 2; give those numbers that it had there "
      "(--lost-devices)");
  EXPECT_EQ(message({1, 1}),
            "lost device 1: is listed twice; give each lost device once (--lost-devices)");
  EXPECT_EQ(message({}),
            "the running plan has 3 devices, of which 0 are lost, but the task has only 2; say "
            "which others are lost");
}

}  // namespace
}  // namespace neuroshard
