// Tiny tasks beside a look at all plans that have tables in slices of any widths, row-wise or
// replicated, by code that knows nothing but the rules: all that exist are found, and keep them.
#include "search/starts/room_search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/tables/table_groups.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/kept_rules.h"
#include "search/planned_cuts.h"
#include "search/random_rules.h"
#include "search/tables_of_kinds.h"

namespace neuroshard {
namespace {

using testing::expect_good;
using testing::expect_keeps_rules;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::plain_table;
using testing::planner_of;
using testing::repetitions;

/// Bytes that a table takes of each device, and whether it is there.
struct Holding {
  std::vector<std::int64_t> bytes;
  std::vector<bool> holds;
};

bool allows(const Table& table, ShardingKind kind) {
  return table.rules.kinds.empty() || std::ranges::count(table.rules.kinds, kind) > 0;
}

bool allows_device(const TableRules& rules, int device) {
  return (rules.devices.empty() || std::ranges::count(rules.devices, device) > 0) &&
         std::ranges::count(rules.not_devices, device) == 0;
}

/// Adds all that share out columns, at most one slice on a device.
void add_columns(const Task& task, const Table& table, std::vector<Holding>& holdings) {
  const auto devices = static_cast<std::size_t>(task.devices);
  const TableRules& rules = table.rules;
  std::vector<int> dims(devices, 0);
  const std::function<void(std::size_t, int)> from = [&](std::size_t d, int left) {
    if (d < devices) {
      for (dims[d] = 0; dims[d] <= left; dims[d] += kDimMultiple) from(d + 1, left - dims[d]);
      dims[d] = 0;
      return;
    }
    const auto slices = std::ranges::count_if(dims, [](int dim) { return dim > 0; });
    if (left > 0 || (rules.no_split && slices > 1)) return;
    if (rules.max_slices > 0 && slices > rules.max_slices) return;
    if (devices > 1 && !allows(table, ShardingKind::kColumn) &&
        (slices > 1 || !allows(table, ShardingKind::kTable)))
      return;
    Holding holding{std::vector<std::int64_t>(devices, 0), std::vector<bool>(devices, false)};
    for (std::size_t device = 0; device < devices; ++device) {
      const int dim = dims[device];
      if (dim == 0) continue;
      if (dim < std::min(rules.min_width, table.dim) ||
          !allows_device(rules, static_cast<int>(device)))
        return;
      holding.bytes[device] = slice_bytes(table, dim);
      holding.holds[device] = true;
    }
    holdings.push_back(std::move(holding));
  };
  from(0, table.dim);
}

/// All holdings of a table; the task has one node.
std::vector<Holding> holdings_of(const Task& task, std::size_t t) {
  const Table& table = task.tables[t];
  const auto devices = static_cast<std::size_t>(task.devices);
  std::vector<Holding> holdings;
  add_columns(task, table, holdings);
  const bool grouped = std::ranges::any_of(task.groups, [&](const TableGroup& group) {
    return std::ranges::count(group.tables, static_cast<int>(t)) > 0;
  });
  for (std::size_t d = 0; d < devices; ++d) {
    if (grouped || devices == 1 || !allows_device(table.rules, static_cast<int>(d)))
      return holdings;
  }
  const std::vector<bool> everywhere(devices, true);
  if (allows(table, ShardingKind::kReplicate)) {
    const std::int64_t bytes = replica_memory(task, static_cast<int>(t)).total_bytes();
    holdings.push_back({std::vector<std::int64_t>(devices, bytes), everywhere});
  }
  if (!allows(table, ShardingKind::kRow) && !allows(table, ShardingKind::kTableRow) &&
      !allows(table, ShardingKind::kGrid))
    return holdings;
  const std::int64_t of_block = (table.rows + task.devices - 1) / task.devices;
  Holding by_rows{std::vector<std::int64_t>(devices, 0), everywhere};
  int blocks = 0;
  for (std::int64_t row = 0; row < table.rows; row += of_block, ++blocks) {
    const std::int64_t rows = std::min(of_block, table.rows - row);
    by_rows.bytes[static_cast<std::size_t>(blocks)] =
        slice_bytes(task, {static_cast<int>(t), 0, table.dim, row, rows});
  }
  const int most = table.rules.no_split ? 1 : table.rules.max_slices;
  if (most == 0 || blocks <= most) holdings.push_back(std::move(by_rows));
  return holdings;
}

bool hold_as_grouped(const Task& task, const std::vector<const Holding*>& holdings) {
  for (const TableGroup& group : task.groups) {
    int holders = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
      const auto tables = std::ranges::count_if(
          group.tables, [&](int t) { return holdings[static_cast<std::size_t>(t)]->holds[d]; });
      holders += tables > 0 ? 1 : 0;
      if (group.keep == Keep::kApart && tables > 1) return false;
    }
    if (group.keep == Keep::kTogether && holders > 1) return false;
  }
  return true;
}

/// `columns_only`: without row blocks and replicas.
bool fits_somehow(const Task& task, bool columns_only) {
  std::vector<std::vector<Holding>> holdings;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    if (columns_only) {
      add_columns(task, task.tables[t], holdings.emplace_back());
    } else {
      holdings.push_back(holdings_of(task, t));
    }
  }
  std::vector<std::int64_t> rooms = rooms_bytes(task);
  std::vector<const Holding*> chosen;
  const std::function<bool()> go_on = [&] {
    if (chosen.size() == holdings.size()) return hold_as_grouped(task, chosen);
    for (const Holding& holding : holdings[chosen.size()]) {
      if (!std::ranges::equal(holding.bytes, rooms, std::ranges::less_equal{})) continue;
      for (std::size_t d = 0; d < rooms.size(); ++d) rooms[d] -= holding.bytes[d];
      chosen.push_back(&holding);
      const bool found = go_on();
      chosen.pop_back();
      for (std::size_t d = 0; d < rooms.size(); ++d) rooms[d] += holding.bytes[d];
      if (found) return true;
    }
    return false;
  };
  return go_on();
}

void add_rules(Table& table, int devices, Random& random) {
  TableRules& rules = table.rules;
  rules.no_split = random.below(5) == 0;
  if (random.below(3) == 0) {
    rules.min_width = 1 + static_cast<int>(random.below(static_cast<std::size_t>(table.dim)));
  }
  if (random.below(3) == 0) rules.max_slices = 1 + static_cast<int>(random.below(3));
  if (random.below(4) == 0) {
    for (int device = 0; device < devices; ++device) {
      if (random.below(2) == 0) rules.devices.push_back(device);
    }
  }
  if (random.below(3) != 0) return;
  for (const ShardingKind kind : all_sharding_kinds()) {
    if (random.below(2) == 0) rules.kinds.push_back(kind);
  }
}

/// Up to three devices, and tables of up to seven units of columns, few of which have halves.
Task tiny_task_of_any_cuts(std::uint64_t seed) {
  Random random(seed, 61);
  Task task;
  task.devices = random.below(8) == 0 ? 1 : 2 + static_cast<int>(random.below(2));
  const std::size_t tables = 1 + random.below(3);
  const auto types = all_weight_types();
  const auto optimizers = all_optimizers();
  for (std::size_t t = 0; t < tables; ++t) {
    const bool few_rows = random.below(4) == 0;
    Table& table = task.tables.emplace_back(
        plain_table(1 + static_cast<std::int64_t>(random.below(few_rows ? 6 : 4000)),
                    4 * (1 + static_cast<int>(random.below(7))), 0.1 + 10.0 * random.uniform()));
    if (random.below(3) == 0) table.memory.weight_type = types[random.below(types.size())];
    if (random.below(3) == 0) table.memory.optimizer = optimizers[random.below(optimizers.size())];
    if (random.below(2) == 0) add_rules(table, task.devices, random);
    try {
      validate(table, "");
    } catch (const Error&) {
      table.rules = {};
    }
  }
  if (random.below(3) == 0) {
    task.batch_size = 1024;
    for (Table& table : task.tables) table.memory.batch_size = task.batch_size;
  }
  if (random.below(4) == 0) testing::add_random_groups(task, 1, random);
  constexpr double kSlack[] = {1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0};
  const double share = static_cast<double>(total_bytes(task)) / task.devices;
  const double slack = kSlack[random.below(std::size(kSlack))];
  task.memory_bytes = 1 + static_cast<std::int64_t>(share * slack);
  if (random.below(2) == 0) {
    for (int device = 0; device < task.devices; ++device) {
      const double part = 0.5 + 1.1 * random.uniform();
      task.device_list.push_back(
          {.memory_bytes = 1 + static_cast<std::int64_t>(share * slack * part)});
    }
  }
  return task;
}

bool is_valid(const Task& task) {
  try {
    validate(task);
  } catch (const Error&) {
    return false;
  }
  return true;
}

TEST(AnyCutsExhaustively, KeepRulesAndNoPlanThatExistsIsDenied) {
  const Planner planner = planner_of();
  const Planner equal_widths = planner_of(Effort::kFast, Cuts::kTorchrec);
  int infeasible = 0;
  int valid = 0;
  const testing::SeedRange seeds = testing::random_task_seeds(repetitions(1500));
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
  const testing::SeedRange seeds = testing::random_task_seeds(repetitions(1000));
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
  EXPECT_TRUE(NEUROSHARD_SANITIZED || (proofs > 0 && others > 0));
}

TEST(RoomSearch, SaysWhatIsNotProven) {
  // A table of three rows that fits no device, but for its blocks, beside one of two.
  Task task;
  task.devices = 2;
  task.tables = {plain_table(3, 4, 1.0), plain_table(2, 4, 1.0)};
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
  Task task;
  task.devices = 3;
  task.tables = {plain_table(1'000'000, 96, 3.0)};
  task.memory_bytes = bytes_of(1'000'000, 35);
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
  Task task;
  task.devices = 8;
  task.batch_size = 65536;
  task.tables = {plain_table(20'000, 64, 600.0)};
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
      {.max_slices = 4},
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
  for (std::uint64_t seed = 0; seed < repetitions(600); ++seed) {
    SCOPED_TRACE(seed);
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
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
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
  Task task;
  task.devices = 2;
  task.tables = {plain_table(1000, 12, 1.0), plain_table(1000, 12, 1.0)};
  task.memory_bytes = bytes_of(1000, 12);
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
  Task task;
  task.devices = 30;
  task.tables = {plain_table(1'000'000, 128, 1.0)};
  task.memory_bytes = bytes_of(1'000'000, 4) * 3 / 2;
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
  for (std::uint64_t seed = 0; seed < repetitions(200); ++seed) {
    SCOPED_TRACE(seed);
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
  Task task;
  task.devices = 2;
  task.tables = {plain_table(1000, 12, 1.0)};
  task.memory_bytes = bytes_of(1000, 8);
  const RoomFound stopped = room_for(task, {}, StopCondition([] { return true; }));
  EXPECT_FALSE(stopped.plan);
  EXPECT_FALSE(stopped.impossible);
}

}  // namespace
}  // namespace neuroshard
