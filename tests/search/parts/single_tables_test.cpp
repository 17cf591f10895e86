#include "search/parts/single_tables.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/table_rules.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/parts/even_blocks.h"
#include "search/parts/planned_cuts.h"
#include "search/parts/tables_of_kinds.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::cpu_backend_of;
using testing::Kinds;
using testing::planner_of;
using testing::random_task_of_all_kinds;
using testing::repetitions;
using testing::table_of;

/// In how many lists `table` is.
std::size_t lists_with(const CutChoice& choice, std::uint32_t table) {
  std::size_t lists = 0;
  for (const auto* tables : {&choice.replicas, &choice.row_wise, &choice.node_blocks}) {
    lists += static_cast<std::size_t>(std::ranges::count(*tables, table));
  }
  return lists;
}

TEST(SingleTables, AreOfAnotherKindThatRulesAllow) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  std::size_t changes = 0;
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    const Task task = random_task_of_all_kinds(seed);
    const PlanResult planned = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
    if (!planned.plan) continue;
    const std::vector<std::uint32_t> required{0};
    SingleTables single(backend, task, required, planned,
                        cut_candidates(backend, task, *planned.plan, planned.cost));
    CutChoice best;
    std::size_t without_gain = 0;
    while (const auto choice = single.next(best)) {
      ++changes;
      EXPECT_NE(*choice, best);
      EXPECT_EQ(lists_with(*choice, 0), 0U) << "it must be replicated";
      std::size_t changed = 0;
      for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
        EXPECT_LE(lists_with(*choice, t), 1U);
        const auto is_in = [&](const std::vector<std::uint32_t>& tables) {
          return std::ranges::binary_search(tables, t);
        };
        const Table& table = task.tables[t];
        EXPECT_TRUE(!is_in(choice->replicas) ||
                    may_be_sharded(task, table, ShardingKind::kReplicate));
        EXPECT_TRUE(!is_in(choice->row_wise) || may_be_cut(task, table, task.devices));
        EXPECT_TRUE(!is_in(choice->node_blocks) ||
                    may_be_cut(task, table, block_groups(task).back()));
        changed += is_in(choice->replicas) != is_in(best.replicas) ||
                           is_in(choice->row_wise) != is_in(best.row_wise) ||
                           is_in(choice->node_blocks) != is_in(best.node_blocks)
                       ? 1
                       : 0;
      }
      EXPECT_EQ(changed, 1U);
      if (seed % 2 == 0 && changes % 3 == 0) {
        best = *choice;
        single.last_is_best();
        without_gain = 0;
      } else {
        ++without_gain;
      }
    }
    EXPECT_LE(without_gain, 8U);
    EXPECT_FALSE(single.next(best));
  }
  EXPECT_GT(changes, 0U);
}

// A table that may not be split takes one device longer than all others take theirs, and is one of
// many that may be replicated.
TEST(SingleTables, ThatAPlanWaitsForAreReplicated) {
  Task task;
  task.devices = 64;
  task.memory_bytes = testing::kAmple;
  task.tables = {table_of(3'000'000, 96, 47.0), table_of(15'000, 128, 44.0),
                 table_of(61'000, 32, 26.0),    table_of(2000, 32, 23.0),
                 table_of(16'000, 256, 2.0),    table_of(3'700'000, 256, 6.0)};
  task.tables[1].rules.no_split = true;
  const Planner planner = planner_of(Effort::kDefault);
  const PlanResult free = planner.plan(task);
  testing::expect_good(planner, task, free);
  task.tables[1].rules.kinds = {ShardingKind::kReplicate};
  const PlanResult forced = planner.plan(task);
  testing::expect_good(planner, task, forced);
  EXPECT_LE(free.cost.cost_ms, 1.2 * forced.cost.cost_ms);
  task.tables[1].rules.kinds = {ShardingKind::kTable};
  EXPECT_LT(free.cost.cost_ms, 0.5 * planner.plan(task).cost.cost_ms);
}

}  // namespace
}  // namespace neuroshard
