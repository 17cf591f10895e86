// Tiny tasks beside a look at all plans (search/tiny_tasks.h): all that exist are found, and keep
// their rules.
#include "search/starts/room_search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <vector>

#include "core/base/random.h"
#include "core/tables/table_groups.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/kept_rules.h"
#include "search/planned_cuts.h"
#include "search/random_rules.h"
#include "search/tables_of_kinds.h"
#include "search/tiny_tasks.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::expect_good;
using testing::expect_keeps_rules;
using testing::fits_somehow;
using ::testing::HasSubstr;
using testing::is_valid;
using ::testing::IsEmpty;
using testing::plain_table;
using testing::planner_of;
using testing::tiny_task_of_any_cuts;

TEST(AnyCutsExhaustively, KeepRulesAndNoPlanThatExistsIsDenied) {
  const Planner planner = planner_of();
  const Planner equal_widths = planner_of(Effort::kFast, Cuts::kTorchrec);
  int infeasible = 0;
  int valid = 0;
  const testing::SeedRange seeds = testing::random_task_seeds(drawn_tasks(300));
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    SCOPED_TRACE(seed);
    const Task task = tiny_task_of_any_cuts(seed);
    if (!is_valid(task)) continue;
    ++valid;
    const bool feasible = fits_somehow(task, false);
    infeasible += feasible ? 0 : 1;
    const PlanResult result = planner.plan(task);
    if (feasible) {
      expect_good(planner, task, result);
    } else {
      expect_keeps_rules(task, result);
    }
    const PlanResult equal = equal_widths.plan(task);
    expect_keeps_rules(task, equal);
    EXPECT_TRUE(result.plan || !equal.plan);
  }
  EXPECT_GT(infeasible, valid / 20);
  EXPECT_LT(infeasible, valid * 9 / 10);
}

// By halves alone: with any cuts no plan that exists is denied, whatever the reason.
TEST(AnyCutsExhaustively, ReasonsClaimWhatIsProven) {
  const Planner planner = planner_of(Effort::kFast, Cuts::kColumns);
  int proofs = 0;
  int others = 0;
  const testing::SeedRange seeds = testing::random_task_seeds(drawn_tasks(300));
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    SCOPED_TRACE(seed);
    const Task task = tiny_task_of_any_cuts(seed);
    if (!is_valid(task)) continue;
    const PlanResult result = planner.plan(task);
    if (!result.infeasible) continue;
    const std::string& message = result.infeasible->message;
    const bool proven = message.find("however finely they are split") != std::string::npos ||
                        message.find("even when split into columns") != std::string::npos;
    (proven ? proofs : others) += 1;
    if (proven) {
      EXPECT_FALSE(fits_somehow(task, true)) << message;
    }
  }
  EXPECT_TRUE(testing::kFewTasks || (proofs > 0 && others > 0));
}

TEST(RoomSearch, SaysWhatIsNotProven) {
  // A table of three rows that fits no device, but for its blocks, beside one of two.
  Task task{.tables = {plain_table(3, 4, 1.0), plain_table(2, 4, 1.0)}, .devices = 2};
  task.tables[1].rules.kinds = {ShardingKind::kTable};
  task.memory_bytes = 40;
  const PlanResult any = planner_of().plan(task);
  ASSERT_TRUE(any.infeasible);
  EXPECT_EQ(any.infeasible->kind, Infeasibility::Kind::kPacking);
  EXPECT_THAT(any.infeasible->message, HasSubstr("no way was found to pack"));
  const std::vector<PlanOutcome> batch = planner_of().plan_batch({{task}});
  ASSERT_TRUE(batch[0]);
  EXPECT_EQ(batch[0]->infeasible.value().message, any.infeasible->message);

  task.tables[0].rules.kinds = {ShardingKind::kColumn};
  const PlanResult columns = planner_of().plan(task);
  ASSERT_TRUE(columns.infeasible);
  EXPECT_EQ(columns.infeasible->kind, Infeasibility::Kind::kPieceTooLarge);
  EXPECT_THAT(columns.infeasible->message, HasSubstr("even when split into columns of dim 4"));

  // Halves of 12 columns are no multiples of 4, but 8 and 4 would do.
  task.tables = {plain_table(5, 12, 1.0), plain_table(5, 12, 1.0), plain_table(5, 12, 1.0)};
  task.memory_bytes = 5 * 12 * 4 * 9 / 5;
  const PlanResult halves = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
  ASSERT_TRUE(halves.infeasible);
  EXPECT_THAT(halves.infeasible->message, HasSubstr("cannot be packed, however finely they are "
                                                    "halved;"));
}

/// In fp32.
std::int64_t bytes_of(std::int64_t rows, int dim) { return rows * dim * 4; }

TEST(RoomSearch, FindsPartsThatAreNoHalves) {
  const Planner planner = planner_of();
  Task task{.tables = {plain_table(1'000'000, 96, 3.0)},
            .devices = 3,
            .memory_bytes = bytes_of(1'000'000, 35)};
  task.tables[0].rules.max_slices = 3;
  task.tables[0].rules.kinds = {ShardingKind::kColumn};
  const PlanResult thirds = planner.plan(task);
  expect_good(planner, task, thirds);
  for (const TableSlice& slice : thirds.plan->slices) EXPECT_EQ(slice.dim, 32);

  task.devices = 2;
  task.device_list = {{.memory_bytes = bytes_of(1'000'000, 72)},
                      {.memory_bytes = bytes_of(1'000'000, 36)}};
  for (const bool narrow : {false, true}) {
    task.tables[0].rules = {};
    (narrow ? task.tables[0].rules.min_width : task.tables[0].rules.max_slices) = narrow ? 32 : 2;
    const PlanResult unequal = planner.plan(task);
    expect_good(planner, task, unequal);
    EXPECT_FALSE(has_row_blocks(task, *unequal.plan));
  }
}

/// Ids of its first table alone take more than a device.
Task task_with_many_ids() {
  Task task{.tables = {plain_table(20'000, 64, 600.0)}, .devices = 8, .batch_size = 65536};
  for (int i = 0; i < 6; ++i) task.tables.push_back(plain_table(100'000, 32, 2.0));
  for (Table& table : task.tables) table.memory.batch_size = task.batch_size;
  task.memory_bytes = std::int64_t{1} << 28;
  return task;
}

TEST(RoomSearch, ReplicatesWhatFitsNowhereElse) {
  const Planner planner = planner_of();
  Task task = task_with_many_ids();
  TableRules& rules = task.tables[0].rules;
  const std::vector<TableRules> sets = {
      {.no_split = true},
      {.max_slices = 1},
      {.kinds = {ShardingKind::kTable, ShardingKind::kColumn, ShardingKind::kReplicate}}};
  for (const TableRules& set : sets) {
    rules = set;
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    EXPECT_EQ(std::ranges::count(result.plan->replicas, 0), 1);
    const std::vector<PlanOutcome> batch = planner.plan_batch({{task}});
    ASSERT_TRUE(batch[0]);
    EXPECT_EQ(batch[0]->plan, result.plan);
  }
}

TEST(RoomSearch, KeepsToItsTime) {
  Task task = task_with_many_ids();
  task.tables[0].rules.no_split = true;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(planner_of().plan(task, {.stop = stop.get_token()}).plan);
}

RoomFound room_for(const Task& task, const WayOptions& options = {},
                   const StopCondition& stop = {}) {
  static const std::unique_ptr<Backend> backend = make_cpu_backend(builtin_weights());
  return find_room(*backend, with_rules_of_groups(task), options, stop);
}

// No search that looks at costs takes part: what exists is found, what does not is proven.
TEST(RoomSearch, IsRightAboutEveryTinyTask) {
  int found = 0;
  int impossible = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(600))) {
    const Task task = tiny_task_of_any_cuts(seed);
    if (task.devices == 1 || !is_valid(task)) continue;
    const WayOptions ways[] = {{},
                               {.rows = false, .replicas = false},
                               {.equal_widths = true},
                               {.rows = false, .replicas = false, .halves = true}};
    for (const WayOptions& options : ways) {
      const RoomFound room = room_for(task, options);
      EXPECT_NE(room.plan.has_value(), room.impossible);
      if (room.plan) {
        EXPECT_THAT(check_plan(*room.plan, task), IsEmpty());
      }
      const bool exists = fits_somehow(task, !options.rows);
      EXPECT_TRUE(exists || !room.plan);
      if (!options.equal_widths && !options.halves) {
        EXPECT_EQ(room.plan.has_value(), exists);
      }
      found += room.plan ? 1 : 0;
      impossible += room.impossible ? 1 : 0;
    }
  }
  EXPECT_GT(found, 0);
  EXPECT_GT(impossible, 0);
}

TEST(RoomSearch, KeepsToTheWaysThatAreAsked) {
  int found = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    Task task = testing::random_task(seed);
    Random random(seed, 92);
    if (seed % 3 == 1) testing::add_random_rules(task, random);
    if (seed % 3 == 2) testing::add_random_groups(task, 2, random);
    for (const bool any_ways : {false, true}) {
      const RoomFound room =
          room_for(task, {.rows = any_ways, .replicas = any_ways, .halves = !any_ways});
      if (!room.plan) continue;
      ++found;
      EXPECT_THAT(check_plan(*room.plan, task), IsEmpty());
      EXPECT_TRUE(any_ways || (room.plan->replicas.empty() && !has_row_blocks(task, *room.plan)));
    }
  }
  EXPECT_GT(found, 0);
}

TEST(RoomSearch, ShardsOtherwiseOnlyWhereHalvesHaveNoRoom) {
  // Tables of three units of columns, which have no halves.
  Task task{.tables = {plain_table(1000, 12, 1.0), plain_table(1000, 12, 1.0)},
            .devices = 2,
            .memory_bytes = bytes_of(1000, 12)};
  const RoomFound whole = room_for(task);
  ASSERT_TRUE(whole.plan);
  EXPECT_EQ(whole.plan->slices.size(), 2U);

  task.tables.pop_back();
  task.memory_bytes = bytes_of(1000, 8);
  EXPECT_TRUE(room_for(task, {.rows = false, .replicas = false, .halves = true}).impossible);
  EXPECT_TRUE(room_for(task).plan);

  task.tables.push_back(plain_table(1000, 12, 1.0));
  task.tables.front().rules.kinds = {ShardingKind::kRow};
  task.memory_bytes = bytes_of(1000, 20);
  EXPECT_FALSE(room_for(task, {.rows = false, .replicas = false}).plan);
  const RoomFound by_rows = room_for(task);
  ASSERT_TRUE(by_rows.plan);
  EXPECT_TRUE(has_row_blocks(task, *by_rows.plan));
}

// Devices have room for 45 units of a table of 32, but for 30 by whole units: which of them hold
// none would take too long to try.
TEST(RoomSearch, AProofCountsWholeUnits) {
  Task task{.tables = {plain_table(1'000'000, 128, 1.0)},
            .devices = 30,
            .memory_bytes = bytes_of(1'000'000, 4) * 3 / 2};
  const WayOptions halves{.rows = false, .replicas = false, .halves = true};
  EXPECT_TRUE(room_for(task, halves).impossible);
  task.devices = 32;
  const RoomFound found = room_for(task, halves);
  ASSERT_TRUE(found.plan);
  EXPECT_EQ(found.plan->shards.size(), 32U);
}

// A slice takes more beside its columns than they do: of halves fewer columns may take more.
TEST(RoomSearch, CountsWhatEachSliceTakes) {
  int found = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(200))) {
    Random random(seed, 94);
    Task task;
    task.devices = 2 + static_cast<int>(random.below(3));
    for (std::size_t t = 0; t < 1 + random.below(3); ++t) {
      Table& table = task.tables.emplace_back(
          plain_table(1 + static_cast<std::int64_t>(random.below(50)), 32, 20.0));
      table.memory.batch_size = static_cast<std::int64_t>(1 + random.below(100));
      table.memory.optimizer = Optimizer::kRowwiseAdagrad;
    }
    task.memory_bytes = total_bytes(task) / task.devices +
                        static_cast<std::int64_t>(random.below(
                            static_cast<std::uint64_t>(total_bytes(task) / task.devices)));
    const RoomFound halves = room_for(task, {.rows = false, .replicas = false, .halves = true});
    const RoomFound any = room_for(task, {.rows = false, .replicas = false});
    for (const RoomFound& room : {halves, any}) {
      EXPECT_NE(room.plan.has_value(), room.impossible);
      if (!room.plan) continue;
      EXPECT_THAT(check_plan(*room.plan, task), IsEmpty());
      ++found;
    }
    EXPECT_TRUE(any.plan || !halves.plan);
  }
  EXPECT_GT(found, 0);
}

TEST(RoomSearch, FindsNothingAtAStop) {
  Task task{
      .tables = {plain_table(1000, 12, 1.0)}, .devices = 2, .memory_bytes = bytes_of(1000, 8)};
  const RoomFound stopped = room_for(task, {}, StopCondition([] { return true; }));
  EXPECT_FALSE(stopped.plan);
  EXPECT_FALSE(stopped.impossible);
}

}  // namespace
}  // namespace neuroshard
