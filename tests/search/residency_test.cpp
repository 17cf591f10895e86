#include "search/residency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <span>

#include "message_of.h"
#include "random_tasks.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::cpu_backend_of;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_models;

Table table(const std::string& name, std::int64_t rows, int dim) {
  Table table{.name = name, .rows = rows, .dim = dim, .pooling_factor = 1.0};
  table.access_histogram[0] = 1.0;
  return table;
}

Task task_of(std::vector<Table> tables, int devices) {
  return {.tables = std::move(tables), .devices = devices, .memory_bytes = std::int64_t{1} << 40};
}

std::vector<std::uint32_t> in_order(const Task& task) {
  std::vector<std::uint32_t> order(task.tables.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

Residency residency_of(const Task& task, std::span<const std::uint32_t> listed,
                       const RunningPlan& running) {
  return {task, listed, running, running_tables(task, running.task)};
}

// Table a is halved over devices 0 and 2, b is on device 1.
RunningPlan running_example() {
  Task task = task_of({table("a", 100, 16), table("b", 10, 8)}, 3);
  Plan plan{.slices = {{0, 0, 8, 0, 100}, {1, 0, 8, 0, 10}, {0, 8, 8, 0, 100}},
            .shards = {{0}, {1}, {2}}};
  return {.task = std::move(task), .plan = std::move(plan), .lost_devices = {}};
}

TEST(Residency, KnowsTablesByNameAndDimAndDevicesByWhatIsLost) {
  RunningPlan running = running_example();
  running.lost_devices = {1};
  // b is listed first, a has grown, c is new, and so is another a.
  const Task task =
      task_of({table("b", 10, 8), table("a", 150, 16), table("c", 5, 4), table("a", 100, 16)}, 3);
  const Residency residency = residency_of(task, in_order(task), running);
  EXPECT_TRUE(residency.of_table(0).empty());
  ASSERT_EQ(residency.of_table(1).size(), 2U);
  EXPECT_EQ(residency.columns(1, 0), 8);
  EXPECT_EQ(residency.columns(1, 1), 8);  // Was device 2.
  EXPECT_EQ(residency.columns(1, 2), 0);
  EXPECT_EQ(residency.bytes_per_column(1), 400);
  EXPECT_EQ(residency.part_bytes(1, 1, residency.rows(1)), 600);
  EXPECT_TRUE(residency.of_table(2).empty());
  EXPECT_TRUE(residency.of_table(3).empty());
  EXPECT_EQ(residency.least_bytes(), 10 * 8 * 4 + 50 * 16 * 4 + 5 * 4 * 4 + 100 * 16 * 4);
}

TEST(Residency, ATableOfAnotherDimIsNew) {
  const Task task = task_of({table("a", 100, 32), table("b", 10, 8)}, 3);
  const Residency residency = residency_of(task, in_order(task), running_example());
  EXPECT_TRUE(residency.of_table(0).empty());
  EXPECT_EQ(residency.least_bytes(), 100 * 32 * 4);
}

// With other rows a device would train on what it has of another table.
TEST(Residency, RefusesTablesOfOneNameWhoseOrderDoesNotSayWhichIsWhich) {
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

TEST(Residency, RefusesDevicesThatDoNotAddUp) {
  const Task task = task_of({table("a", 100, 16)}, 2);
  const auto message = [&](std::vector<int> lost) {
    RunningPlan running = running_example();
    running.lost_devices = std::move(lost);
    return message_of([&] { (void)residency_of(task, in_order(task), running); });
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

TEST(Residency, RefusesRowBlocks) {
  RunningPlan running = running_example();
  running.plan.slices[1].rows = 4;
  running.plan.slices.push_back({1, 0, 8, 4, 6});
  running.plan.shards[0].push_back(3);
  const Task task = running.task;
  EXPECT_EQ(message_of([&] { (void)residency_of(task, in_order(task), running); }),
            "the running plan cuts table 1 by rows, and re-planning knows only what devices hold "
            "of whole columns; plan the task anew");
}

TEST(ColumnsToKeep, GivesSlicesWhatTheirDevicesHold) {
  const CpuBackend backend = cpu_backend_of(random_models(1));
  RunningPlan running = running_example();
  const Task task = task_of({table("a", 100, 16)}, 3);
  const CatalogedTask cataloged(backend, task);
  const Residency residency = residency_of(task, cataloged.canonical.original, running);
  const std::uint32_t half = cataloged.catalog.half(cataloged.catalog.whole(0));
  const std::uint32_t quarter = cataloged.catalog.half(half);
  // The second half stays on device 2; device 0 keeps a quarter, and device 1 gets the other one.
  const Layout layout = {{quarter, 0, 0}, {quarter, 0, 1}, {half, 0, 2}};
  const std::vector<int> first_columns = columns_to_keep(cataloged.catalog, layout, residency);
  EXPECT_EQ(first_columns[2], 8);
  EXPECT_NE(first_columns[0], first_columns[1]);
  const std::vector<TableMove> moves =
      moves_of(cataloged.catalog, layout, first_columns, residency);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].columns, (TableColumns{0, first_columns[1], 4}));
  EXPECT_EQ(moves[0].from, 0);
  EXPECT_EQ(moves[0].to, 1);
  EXPECT_EQ(moves[0].bytes, 1600);
  EXPECT_EQ(moved_bytes(moves), 1600);
}

}  // namespace
}  // namespace neuroshard
