
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "core/base/enum_names.h"
#include "core/base/random.h"
#include "core/plans/equal_blocks.h"
#include "core/tables/table_rules.h"
#include "message_of.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/sharding_kind.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::message_of;
using testing::repetitions;

using enum ShardingKind;
using Kinds = std::vector<ShardingKind>;

TEST(ShardingKind, NamesComeBack) {
  for (const ShardingKind kind : all_sharding_kinds()) {
    EXPECT_EQ(sharding_kind_from_name(name_of(kind)), kind);
  }
  EXPECT_EQ(listed_names(all_sharding_kinds()),
            "table, column, row, table_row, grid, part_row, replicate");
  EXPECT_EQ(message_of([] { (void)sharding_kind_from_name("table_rows"); }),
            "there is no kind of sharding 'table_rows'; did you mean 'table_row'? use one of "
            "table, column, row, table_row, grid, part_row, replicate");
}

TEST(EqualBlocks, ShareRowsOutAsTheyAre) {
  for (const int devices : {1, 2, 3, 8, 16}) {
    for (std::int64_t rows = 1; rows < 70; ++rows) {
      std::int64_t left = rows;
      int blocks = 0;
      for (; left > 0; ++blocks) left -= rows_of_block(rows, devices);
      EXPECT_EQ(count_of_blocks(rows, devices), blocks) << rows << " rows, " << devices;
      EXPECT_LE(blocks, devices);
    }
  }
}

/// A task of one table with 16 columns.
Task task_of(std::int64_t rows, int devices, int devices_per_node) {
  return {.tables = {{"a", rows, 16, 1.0, {}}},
          .devices = devices,
          .memory_bytes = std::int64_t{1} << 40,
          .devices_per_node = devices_per_node};
}

std::vector<int> first_devices(int count) {
  std::vector<int> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

/// The table in slices of `dim` columns, each in blocks of `of_block` rows; slice by slice on
/// `devices`.
Plan cut(const Task& task, int dim, std::int64_t of_block, const std::vector<int>& devices) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  const Table& table = task.tables.front();
  for (int column = 0; column < table.dim; column += dim) {
    for (std::int64_t row = 0; row < table.rows; row += of_block) {
      const auto slice = plan.slices.size();
      plan.shards[static_cast<std::size_t>(devices.at(slice))].push_back(static_cast<int>(slice));
      plan.slices.push_back({0, column, dim, row, std::min(of_block, table.rows - row)});
    }
  }
  validate(plan, task);
  return plan;
}

Kinds kinds(const Task& task, int dim, std::int64_t of_block, const std::vector<int>& devices) {
  return sharding_kinds(task, cut(task, dim, of_block, devices)).front();
}

TEST(ShardingKinds, AreThoseOfTheSlices) {
  const Task task = task_of(100, 4, 2);
  EXPECT_THAT(kinds(task, 16, 100, {3}), ElementsAre(kTable, kColumn));
  EXPECT_THAT(kinds(task, 8, 100, {3, 1}), ElementsAre(kColumn));
  EXPECT_THAT(kinds(task, 8, 100, {3, 3}), ElementsAre(kColumn));
  EXPECT_THAT(kinds(task, 16, 25, {0, 1, 2, 3}), ElementsAre(kRow));
  EXPECT_THAT(kinds(task, 16, 40, {0, 1, 3}), ElementsAre(kRow));
  EXPECT_THAT(kinds(task, 16, 50, {2, 3}), ElementsAre(kTableRow, kGrid));
  EXPECT_THAT(kinds(task, 16, 50, {1, 2}), ElementsAre(kRow));
  EXPECT_THAT(kinds(task, 16, 50, {1, 1}), ElementsAre(kPartRow));
  EXPECT_THAT(kinds(task, 8, 50, {0, 1, 2, 3}), ElementsAre(kGrid));
  EXPECT_THAT(kinds(task, 8, 50, {0, 2, 2, 0}), ElementsAre(kGrid));
  Plan replicated;
  replicated.shards.resize(4);
  replicated.replicas = {0};
  EXPECT_THAT(sharding_kinds(task, replicated), ElementsAre(ElementsAre(kReplicate)));
}

TEST(ShardingKinds, AreSeveralWhereNothingTellsThemApart) {
  const auto all = all_sharding_kinds();
  EXPECT_THAT(kinds(task_of(100, 1, 8), 8, 50, {0, 0, 0, 0}), ElementsAreArray(all));
  const Task one_node = task_of(100, 4, 8);
  EXPECT_THAT(kinds(one_node, 16, 25, {0, 1, 2, 3}), ElementsAre(kRow, kTableRow, kGrid));
  EXPECT_THAT(kinds(one_node, 16, 50, {0, 1}), ElementsAre(kPartRow));
  EXPECT_THAT(kinds(one_node, 8, 50, {0, 1, 2, 3}), ElementsAre(kPartRow));
  EXPECT_THAT(kinds(one_node, 8, 25, {0, 1, 2, 3, 1, 0, 2, 3}), ElementsAre(kGrid));
  EXPECT_THAT(kinds(task_of(2, 4, 8), 16, 1, {0, 1}),
              ElementsAre(kRow, kTableRow, kGrid, kPartRow));
  // Row-wise on 4 devices, of which the second node has none.
  EXPECT_THAT(kinds(task_of(2, 4, 2), 16, 1, {0, 1}), ElementsAre(kRow, kTableRow, kGrid));
  const Task one_row = task_of(1, 4, 2);
  EXPECT_THAT(kinds(one_row, 16, 1, {3}), ElementsAre(kTable, kColumn, kRow, kTableRow, kGrid));
  EXPECT_THAT(kinds(one_row, 8, 1, {3, 0}), ElementsAre(kColumn, kGrid));
}

TEST(ShardingKinds, OfTorchRecsBlocksAreItsOwn) {
  for (const int devices : {2, 4, 8, 16, 24}) {
    for (const int node : {2, 4, 8}) {
      if (devices % node != 0) continue;
      for (std::int64_t rows = 1; rows < 60; ++rows) {
        SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(node) + " a node, " +
                     std::to_string(rows) + " rows");
        const Task task = task_of(rows, devices, node);
        const std::vector<int> over_all = first_devices(devices);
        EXPECT_THAT(kinds(task, 16, rows_of_block(rows, devices), over_all), Contains(kRow));
        const std::vector<int> last_node(over_all.end() - node, over_all.end());
        const std::int64_t of_block = rows_of_block(rows, node);
        EXPECT_THAT(kinds(task, 16, of_block, last_node), Contains(kTableRow));
        std::vector<int> grid(over_all.begin(), over_all.begin() + count_of_blocks(rows, node));
        grid.insert(grid.end(), last_node.begin(), last_node.end());
        EXPECT_THAT(kinds(task, 8, of_block, grid), Contains(kGrid));
      }
    }
  }
}

TEST(ShardingKinds, CheckListsBrokenRules) {
  Task task = task_of(100, 4, 2);
  task.tables[0].rules.kinds = {kRow, kGrid};
  const auto problems = [&](const Plan& plan) {
    std::vector<std::string> lines;
    for (const PlanProblem& problem : check_plan(plan, task)) {
      EXPECT_EQ(problem.kind, PlanProblem::Kind::kRule);
      EXPECT_EQ(problem.table, 0);
      lines.push_back(problem.message());
    }
    return lines;
  };
  EXPECT_THAT(problems(cut(task, 8, 100, {0, 1})),
              ElementsAre("table 0 ('a'): is of kind column, but its rule kinds allows row, grid; "
                          "shard it in one of these ways"));
  EXPECT_THAT(problems(cut(task, 16, 25, {0, 1, 2, 3})), ElementsAre());
  EXPECT_THAT(problems(cut(task, 8, 50, {0, 1, 2, 3})), ElementsAre());
  Plan replicated;
  replicated.shards.resize(4);
  replicated.replicas = {0};
  EXPECT_THAT(problems(replicated), ElementsAre(HasSubstr("is of kind replicate, but")));
  task.tables[0].rules.kinds = {kReplicate};
  EXPECT_THAT(problems(replicated), ElementsAre());
  EXPECT_THAT(problems(cut(task, 16, 100, {0})),
              ElementsAre(HasSubstr("is of kind table, column, but its rule kinds allows "
                                    "replicate")));
  // A problem of the plan itself is told once.
  Plan incomplete = cut(task, 8, 100, {0, 1});
  incomplete.shards[1].clear();
  const std::vector<PlanProblem> all = check_plan(incomplete, task);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, PlanProblem::Kind::kSlice);
}

// A rule allows the plans that check_plan() lets pass.
TEST(ShardingKinds, RulesAllowWhatSomePlanOfTheKindKeeps) {
  for (const std::uint64_t seed : testing::Seeds(repetitions(3000))) {
    Random random(seed, 31);
    const int devices = 1 + static_cast<int>(random.below(4));
    const int node = 1 + static_cast<int>(random.below(4));
    Task task = task_of(1 + static_cast<std::int64_t>(random.below(6)), devices, node);
    TableRules& rules = task.tables[0].rules;
    rules.no_split = random.below(3) == 0;
    rules.max_slices = static_cast<int>(random.below(4));
    if (random.below(2) == 0) rules.not_devices = {static_cast<int>(random.below(4)) % devices};
    if (devices == 1) rules.not_devices.clear();
    for (const ShardingKind kind : {kRow, kTableRow, kReplicate}) {
      rules.kinds = {kind};
      bool kept = false;
      const auto look_at = [&](const Plan& plan) { kept = kept || check_plan(plan, task).empty(); };
      const std::int64_t rows = task.tables[0].rows;
      const std::vector<int> all = first_devices(devices);
      if (kind == kRow) look_at(cut(task, 16, rows_of_block(rows, devices), all));
      for (int first = 0; kind == kTableRow && first < devices; first += node) {
        const int count = std::min(node, devices - first);
        look_at(cut(task, 16, rows_of_block(rows, count), {all.begin() + first, all.end()}));
      }
      if (kind == kReplicate) {
        Plan replicated;
        replicated.shards.resize(static_cast<std::size_t>(devices));
        replicated.replicas = {0};
        look_at(replicated);
      }
      // Where rows are not shared out evenly a plan may leave out devices that rules exclude.
      if (may_be_sharded(task, task.tables[0], kind) && devices > 1) {
        EXPECT_TRUE(kept) << name_of(kind);
      }
      const bool even = rows % devices == 0 && rows % std::min(node, devices) == 0;
      if (kept && even && rules.max_slices == 0 && devices % node == 0) {
        EXPECT_TRUE(may_be_sharded(task, task.tables[0], kind)) << name_of(kind);
      }
    }
  }
}

TEST(ShardingKinds, RulesThatContradictEachOtherAreErrors) {
  Task task = task_of(100, 4, 2);
  TableRules& rules = task.tables[0].rules;
  const auto error = [&](const TableRules& with) {
    rules = with;
    return message_of([&] { validate(task, "a.json"); });
  };
  EXPECT_EQ(error({.no_split = true, .kinds = {kRow, kGrid}}),
            "a.json: table 0 ('a'): the rules no_split and kinds contradict each other: they leave "
            "no way to shard the table on 4 devices (rules: no_split; kinds row, grid); loosen one "
            "of them");
  EXPECT_THAT(error({.max_slices = 3, .kinds = {kRow}}), HasSubstr("max_slices and kinds"));
  EXPECT_THAT(error({.max_slices = 1, .kinds = {kTableRow}}), HasSubstr("max_slices and kinds"));
  EXPECT_THAT(error({.devices = {0, 1, 2}, .kinds = {kRow, kReplicate}}),
              HasSubstr("the rules devices and kinds"));
  EXPECT_THAT(error({.not_devices = {3}, .kinds = {kReplicate}}),
              HasSubstr("the rules not_devices and kinds"));
  EXPECT_THAT(error({.not_devices = {1, 3}, .kinds = {kTableRow}}),
              HasSubstr("the rules not_devices and kinds"));
  EXPECT_THAT(error({.max_slices = 1, .not_devices = {3}, .kinds = {kTableRow, kReplicate}}),
              HasSubstr("table 0 ('a'): the rules contradict each other"));
  EXPECT_THAT(error({.kinds = {static_cast<ShardingKind>(17)}}),
              HasSubstr("none of the enumerators"));
  for (const TableRules& fine : {TableRules{.no_split = true, .kinds = {kColumn}},
                                 TableRules{.no_split = true, .kinds = {kRow, kReplicate}},
                                 TableRules{.max_slices = 3, .kinds = {kRow, kTableRow}},
                                 TableRules{.not_devices = {3}, .kinds = {kTableRow}},
                                 TableRules{.devices = {3}, .kinds = {kTable, kRow}}}) {
    rules = fine;
    EXPECT_NO_THROW(validate(task));
  }
  task.devices_per_node = 1;
  EXPECT_EQ(
      error({.kinds = {kTableRow, kGrid}}),
      "a.json: table 0 ('a'): the rule kinds allows only table_row, grid, for which a node must "
      "have several devices, but devices_per_node is 1; change one of them");
  task.devices_per_node = 0;
  EXPECT_EQ(message_of([&] { validate(task); }),
            "devices_per_node is 0; give a number between 1 and 16384");
}

TEST(ShardingKinds, TablesWithoutTheKindColumnAreNotHalved) {
  Table table{"", 100, 64, 1.0, {}};
  table.rules.kinds = {kTable, kRow};
  EXPECT_EQ(halvings_of(table).some, 0);
  table.rules.kinds = {kColumn};
  EXPECT_EQ(halvings_of(table).some, 4);
  EXPECT_EQ(rules_text({.min_width = 8, .kinds = {kTableRow, kGrid}}),
            " (rules: min_width 8; kinds table_row, grid)");
}

}  // namespace
}  // namespace neuroshard
