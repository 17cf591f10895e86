#include "search/hot_rows/hot_rows_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/plans/sharding_kinds.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "neuroshard/zipf_histogram.h"
#include "repetitions.h"
#include "search/hot_rows/popular_tables.h"
#include "search/state/running_holders.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Table popular_sequence(const std::string& name, std::int64_t rows, int dim, double lookups) {
  Table table{.name = name, .rows = rows, .dim = dim, .pooling_factor = lookups};
  table.access_histogram = zipf_histogram(rows, lookups, 1.2);
  table.popularity = zipf_popularity(rows, 1.2);
  table.pooling = Pooling::kNone;
  return table;
}

Task task_with_hot_rows(std::vector<Table> tables, int devices) {
  Task task{.tables = std::move(tables), .devices = devices, .memory_bytes = std::int64_t{1} << 30};
  task.exchange.hot_rows = true;
  return task;
}

TEST(HotRowsChange, CopiesRowsThatBecomeHotToDevicesThatLackThem) {
  const Task task = task_with_hot_rows({popular_sequence("a", 1000, 16, 5.0)}, 4);
  RunningPlan running{task, {.slices = {}, .shards = {{0}, {1}, {2}, {3}}, .hot_rows = {{0, 200}}}};
  for (int d = 0; d < 4; ++d) running.plan.slices.push_back({0, 0, 16, 200 * d, 200});
  const std::int64_t row_bytes = 16 * 4;
  EXPECT_EQ(HotRowCopies(task, running, {{0, 200}}).bytes(), 0);
  EXPECT_EQ(HotRowCopies(task, running, {{0, 100}}).bytes(), 0);
  EXPECT_EQ(HotRowCopies(task, running, {}).bytes(), 0);
  const HotRowsChange change(task, running, {{0, 600}});
  EXPECT_EQ(HotRowCopies(task, running, {{0, 600}}).bytes(), 400 * 3 * row_bytes);
  EXPECT_THAT(change.before(), ElementsAre(0U, 1U));
  ReplanResult result;
  result.result.plan = change.running().plan;
  change.undo(result);
  EXPECT_THAT(result.result.plan->hot_rows, ElementsAre(HotRows{0, 600}));
  EXPECT_THAT(check_plan(*result.result.plan, task), IsEmpty());
  ASSERT_EQ(result.moves.size(), 12U);
  EXPECT_EQ(result.moves[0].from, 1);
  EXPECT_EQ(result.moves[0].first_row, 300);
  EXPECT_EQ(result.moves[0].rows, 100);
  EXPECT_EQ(moved_bytes(result.moves), result.moved_bytes);
  // Rows of a lost device come from storage.
  running.lost_devices = {1};
  Task smaller = task;
  smaller.devices = 3;
  EXPECT_EQ(HotRowCopies(smaller, running, {{0, 600}}).bytes(), (300 * 2 + 100 * 3) * row_bytes);
}

TEST(HotRowsChange, CopiesRowsToAllDevicesOfNewGroups) {
  const Task task = task_with_hot_rows({popular_sequence("a", 1000, 16, 5.0)}, 4);
  RunningPlan running{task, {.slices = {}, .shards = {{0}, {1}, {2}, {3}}, .hot_rows = {{0, 200}}}};
  for (int d = 0; d < 4; ++d) running.plan.slices.push_back({0, 0, 16, 200 * d, 200});
  const std::int64_t row_bytes = 16 * 4;
  for (const GroupLayout layout : {GroupLayout::kConsecutive, GroupLayout::kInterleaved}) {
    running.regrouped = layout;
    for (const int devices : {2, 8}) {
      Task other = task;
      other.devices = devices;
      // Each of all new groups' devices has 100 of 400 rows.
      const HotRowCopies copies(other, running, {{0, 600}});
      EXPECT_EQ(copies.bytes(), std::max(4, devices) * 300 * row_bytes) << devices;
      const std::vector<TableMove> moves = copies.moves();
      EXPECT_EQ(moved_bytes(moves), copies.bytes());
    }
  }
}

// Each row is sent to those of all devices, or of the devices of each node, that lack it.
TEST(HotRowsChange, CopiesRowsOfNodesToDevicesThatLackThem) {
  Task task = task_with_hot_rows({popular_sequence("a", 10'000, 16, 5.0)}, 4);
  task.devices_per_node = 2;
  task.exchange.hot_rows_by_node = true;
  const auto running_with = [&](const HotRows& was) {
    RunningPlan running{task, {.slices = {}, .shards = {{0}, {1}, {2}, {3}}}};
    const std::int64_t rows = (task.tables[0].rows - was.all()) / 4;
    for (int d = 0; d < 4; ++d) running.plan.slices.push_back({0, 0, 16, rows * d, rows});
    if (was.all() > 0) running.plan.hot_rows = {was};
    return running;
  };
  struct Case {
    HotRows was;
    HotRows is;
    double sent;  ///< Rows.
  };
  for (const auto& [was, is, sent] : {
           Case{{0, 400, 800}, {0, 400, 800}, 0.0},
           Case{{0, 400, 800}, {0, 400, 1600}, 800 * 1.5},  // A device in four has its own part.
           Case{{0, 400, 800}, {0, 1200, 0}, 800 * 2},      // Half of the devices have each.
           Case{{0, 1200, 0}, {0, 400, 800}, 0.0},          // All have them.
           Case{{0, 400, 800}, {0, 400, 0}, 800 * 0.5},     // Its node's other device may.
           Case{{0, 400, 800}, {0, 800, 1200}, 400 * 2 + 800 * 1.5},
           Case{{0, 400, 800}, {0, 2000, 0}, 800 * 2 + 800 * 3},
           Case{{0, 0, 0}, {0, 400, 800}, 400 * 3 + 800 * 1.5},
       }) {
    SCOPED_TRACE(::testing::Message() << was.rows << " and " << was.node_rows << " to " << is.rows
                                      << " and " << is.node_rows);
    const RunningPlan running = running_with(was);
    const HotRowCopies copies(task, running, {is});
    EXPECT_EQ(copies.bytes(), std::llround(sent) * 16 * 4);
    const std::vector<TableMove> moves = copies.moves();
    EXPECT_EQ(moved_bytes(moves), copies.bytes());
    for (const TableMove& move : moves) {
      EXPECT_NE(move.from, move.to);
      EXPECT_GE(move.from, 0);
      EXPECT_LE(move.first_row + move.rows, task.tables[0].rows);
    }
    const HotRowsChange change(task, running, {is});
    ReplanResult result;
    result.result.plan = change.running().plan;
    change.undo(result);
    EXPECT_THAT(result.result.plan->hot_rows, ElementsAre(is));
    EXPECT_THAT(check_plan(*result.result.plan, task), IsEmpty());
    EXPECT_EQ(result.moved_bytes, copies.bytes());
  }
  // In other nodes nobody is known to have them: four devices are sent a part of each row.
  Task other = task;
  other.devices_per_node = 4;
  EXPECT_EQ(HotRowCopies(other, running_with({0, 400, 800}), {{0, 1200}}).bytes(), 800 * 4 * 64);
  EXPECT_EQ(HotRowCopies(other, running_with({0, 400, 800}), {{0, 400}}).bytes(), 800 * 64);
  EXPECT_THAT(kept_hot_rows(other, running_with({0, 400, 800})), ElementsAre(HotRows{0, 400}));
  EXPECT_THAT(kept_hot_rows(task, running_with({0, 400, 800})), ElementsAre(HotRows{0, 400, 800}));
}

TEST(HotRowsChange, OfPlansWithoutAnyIsNone) {
  const Task task = task_with_hot_rows({popular_sequence("a", 1000, 16, 5.0)}, 2);
  const RunningPlan running{task, {.slices = {{0, 0, 16, 0, 1000}}, .shards = {{0}, {}}}};
  const HotRowsChange change(task, running, {});
  EXPECT_EQ(&change.task(), &task);
  EXPECT_EQ(&change.running(), &running);
}

// --------------------------------------------------------------------------------- drawn jobs

struct ChangedHotJob {
  RunningPlan running;
  Task task;
};

/// A job whose plan has hot rows, most of them not those that pay best.
std::optional<ChangedHotJob> changed_hot_job(const Planner& planner, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  std::vector<Table> tables;
  for (int t = 0; t < 2 + below(3); ++t) {
    tables.push_back(
        popular_sequence("t" + std::to_string(t), 40 + below(200), 8 << below(2), 1.0 + below(60)));
    if (below(5) == 0) tables.back().pooling = Pooling::kSum;
  }
  ChangedHotJob job;
  job.running.task = task_with_hot_rows(tables, 2 + below(5));
  job.running.task.exchange.deduplicate_ids = below(4) == 0;
  job.running.task.exchange.deduplicate_by_table = below(4) == 0;
  PlanResult found = planner.plan(job.running.task);
  if (!found.plan) return std::nullopt;
  std::vector<HotRows> hot;
  const PopularTables popular(job.running.task);
  for (int t = 0; std::cmp_less(t, tables.size()); ++t) {
    const std::int64_t rows = below(2) == 0 ? 0 : popular.limited(t, 1 + below(60));
    if (rows > 0) hot.push_back({t, rows});
  }
  job.running.plan = with_other_hot_rows(job.running.task, *found.plan, hot);
  Task& task = job.task = job.running.task;
  if (below(3) == 0 && task.devices > 2) {
    job.running.lost_devices = {below(task.devices)};
    --task.devices;
  }
  if (below(3) == 0) ++task.devices;
  if (below(3) == 0) task.tables.push_back(popular_sequence("new", 100, 8, 20.0));
  if (below(3) == 0) task.tables[static_cast<std::size_t>(below(2))].rows += 30;
  if (below(3) == 0) task.tables[static_cast<std::size_t>(below(2))].pooling_factor *= 10.0;
  if (below(4) == 0) std::swap(task.tables[0], task.tables[1]);
  if (below(6) == 0) task.exchange.hot_rows = false;
  return job;
}

/// Which rows and columns each device has, rows numbered with hot ones first.
class HeldCells {
 public:
  explicit HeldCells(const Task& task) : task_(task) {
    for (int d = 0; d < task.devices; ++d) {
      for (const Table& table : task.tables) {
        cells_.emplace_back(static_cast<std::size_t>(table.rows * table.dim), 0);
      }
    }
  }
  [[nodiscard]] char& at(int device, int table, std::int64_t row, int column) {
    const auto t = static_cast<std::size_t>(table);
    return cells_[static_cast<std::size_t>(device) * task_.tables.size() + t]
                 [static_cast<std::size_t>(row * task_.tables[t].dim + column)];
  }
  template <typename Visit>
  void visit(int device, const TableSlice& slice, std::int64_t first_row, const Visit& visit) {
    const std::int64_t rows = task_.tables[static_cast<std::size_t>(slice.table)].rows;
    for (std::int64_t r = first_row; r < std::min(rows, first_row + slice.rows); ++r) {
      for (int c = slice.first_column; c < slice.first_column + slice.dim; ++c) {
        visit(at(device, slice.table, r, c));
      }
    }
  }
  void add(int device, const TableSlice& slice, std::int64_t first_row) {
    visit(device, slice, first_row, [](char& held) { held = 1; });
  }

 private:
  const Task& task_;
  std::vector<std::vector<char>> cells_;
};

std::vector<std::int64_t> hot_by_table(const Task& task, const std::vector<HotRows>& hot_rows) {
  std::vector<std::int64_t> rows(task.tables.size(), 0);
  for (const HotRows& hot : hot_rows) rows[static_cast<std::size_t>(hot.table)] = hot.rows;
  return rows;
}

/// Cells that devices hold before anything moves, as the new plan numbers rows.
HeldCells held_before(const ChangedHotJob& job, const Plan& plan) {
  const Task& was = job.running.task;
  const std::vector<std::int64_t> hot_now = hot_by_table(job.task, plan.hot_rows);
  std::vector<std::optional<int>> now(was.tables.size());
  std::vector<HotRows> wanted;
  for (int t = 0; std::cmp_less(t, job.task.tables.size()); ++t) {
    for (int b = 0; std::cmp_less(b, was.tables.size()); ++b) {
      if (was.tables[static_cast<std::size_t>(b)].name !=
          job.task.tables[static_cast<std::size_t>(t)].name) {
        continue;
      }
      now[static_cast<std::size_t>(b)] = t;
      const std::int64_t rows =
          std::min(hot_now[static_cast<std::size_t>(t)],
                   was.tables[static_cast<std::size_t>(b)].rows - was.devices);
      if (rows > 0) wanted.push_back({b, rows});
    }
  }
  std::ranges::sort(wanted, {}, &HotRows::table);
  const std::vector<std::int64_t> hot_was = hot_by_table(was, job.running.plan.hot_rows);
  const Plan same = with_other_hot_rows(was, job.running.plan, wanted);
  const std::vector<std::int64_t> hot_same = hot_by_table(was, same.hot_rows);
  const auto places = places_of_running(job.task, job.running).devices;
  HeldCells held(job.task);
  for (std::size_t d = 0; d < places.size(); ++d) {
    if (places[d].empty()) continue;
    const int device = static_cast<int>(places[d].front());
    for (std::size_t b = 0; b < was.tables.size(); ++b) {
      const int t = *now[b];
      const int dim = was.tables[b].dim;
      const bool replica = std::ranges::count(job.running.plan.replicas, static_cast<int>(b)) > 0;
      const std::int64_t rows = replica ? was.tables[b].rows : std::min(hot_was[b], hot_same[b]);
      const std::int64_t now_hot = hot_now[static_cast<std::size_t>(t)];
      if (!replica || hot_same[b] == 0) {
        held.add(device, {t, 0, dim, 0, rows}, 0);
      } else {
        held.add(device, {t, 0, dim, 0, std::min(hot_same[b], now_hot)}, 0);
      }
    }
    for (const int index : same.shards[d]) {
      TableSlice slice = same.slices[static_cast<std::size_t>(index)];
      const auto b = static_cast<std::size_t>(slice.table);
      slice.table = *now[b];
      held.add(device, slice, hot_now[static_cast<std::size_t>(*now[b])] + slice.first_row);
      if (std::cmp_greater_equal(index, job.running.plan.slices.size())) continue;
      const TableSlice& had = job.running.plan.slices[static_cast<std::size_t>(index)];
      const double share = static_cast<double>(hot_same[b] - hot_was[b]) /
                           static_cast<double>(was.tables[b].rows - hot_was[b]);
      if (share <= 0.0) continue;
      const auto end = [&](std::int64_t row) {
        return std::llround(share * static_cast<double>(row));
      };
      const std::int64_t first = end(had.first_row);
      held.add(device,
               {slice.table, had.first_column, had.dim, 0, end(had.first_row + had.rows) - first},
               hot_was[b] + first);
    }
  }
  return held;
}

/// Whether a table is now a replica, and was none. Its moves number rows by hot rows on the way.
bool becomes_replica(const ChangedHotJob& job, const Plan& plan, int table) {
  const std::vector<std::optional<std::size_t>> before = running_tables(job.task, job.running.task);
  const std::optional<std::size_t> was = before[static_cast<std::size_t>(table)];
  return std::ranges::count(plan.replicas, table) > 0 &&
         !(was && std::ranges::count(job.running.plan.replicas, static_cast<int>(*was)) > 0);
}

/// Cells that devices get of a table, and those that they have, are all cells. Rows that stop being
/// hot may be sent again.
void expect_whole(const ChangedHotJob& job, const ReplanResult& near, int table) {
  const Table& of = job.task.tables[static_cast<std::size_t>(table)];
  std::vector<std::int64_t> cells(static_cast<std::size_t>(job.task.devices), 0);
  for (const TableMove& move : near.moves) {
    if (move.columns.table != table) continue;
    cells[static_cast<std::size_t>(move.to)] += move.rows * move.columns.dim;
  }
  const auto places = places_of_running(job.task, job.running).devices;
  const auto before = running_tables(job.task, job.running.task);
  const std::optional<std::size_t> was = before[static_cast<std::size_t>(table)];
  const auto by_device = slices_by_device(job.running.plan);
  for (std::size_t d = 0; d < places.size(); ++d) {
    if (places[d].empty() || !was) continue;
    std::int64_t& has = cells[places[d].front()];
    has += hot_by_table(job.running.task, job.running.plan.hot_rows)[*was] * of.dim;
    for (const TableSlice& slice : by_device[d]) {
      if (std::cmp_equal(slice.table, *was)) has += slice.rows * slice.dim;
    }
  }
  for (const std::int64_t count : cells) EXPECT_GE(count, of.rows * of.dim) << "table " << table;
}

/// Devices end with what the plan wants of them, and are sent nothing that they have.
void expect_moves_are_enough(const ChangedHotJob& job, const ReplanResult& near) {
  const Plan& plan = *near.result.plan;
  HeldCells held = held_before(job, plan);
  HeldCells first = held;
  for (const TableMove& move : near.moves) {
    const auto& [table, first_column, dim] = move.columns;
    EXPECT_EQ(move.bytes, 4 * move.rows * dim);
    if (becomes_replica(job, plan, table)) continue;
    const TableSlice sent{table, first_column, dim, 0, move.rows};
    held.visit(move.to, sent, move.first_row, [](char& cell) {
      EXPECT_EQ(cell, 0) << "sent twice";
      cell = 1;
    });
    if (move.from < 0) continue;
    first.visit(move.from, sent, move.first_row, [&](const char& cell) {
      // Added devices get rows that become hot from one that gets them, too.
      EXPECT_TRUE(cell == 1 || move.to >= job.running.task.devices -
                                              static_cast<int>(job.running.lost_devices.size()));
    });
  }
  const std::vector<std::int64_t> hot = hot_by_table(job.task, plan.hot_rows);
  const auto expect_held = [&](int device, const TableSlice& slice, std::int64_t first_row) {
    int missing = 0;
    held.visit(device, slice, first_row, [&](const char& cell) { missing += cell == 0 ? 1 : 0; });
    EXPECT_EQ(missing, 0) << "device " << device << ", table " << slice.table;
  };
  for (int t = 0; std::cmp_less(t, job.task.tables.size()); ++t) {
    if (becomes_replica(job, plan, t)) expect_whole(job, near, t);
  }
  const auto by_device = slices_by_device(plan);
  for (int d = 0; d < job.task.devices; ++d) {
    for (int t = 0; std::cmp_less(t, job.task.tables.size()); ++t) {
      if (becomes_replica(job, plan, t)) continue;
      const Table& table = job.task.tables[static_cast<std::size_t>(t)];
      const bool replica = std::ranges::count(plan.replicas, t) > 0;
      expect_held(d, {t, 0, table.dim, 0, replica ? table.rows : hot[static_cast<std::size_t>(t)]},
                  0);
    }
    for (const TableSlice& slice : by_device[static_cast<std::size_t>(d)]) {
      expect_held(d, slice, hot[static_cast<std::size_t>(slice.table)] + slice.first_row);
    }
  }
}

TEST(HotRowsChange, DrawnJobsMoveWhatTheySay) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  int kept = 0;
  int others = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(100))) {
    const std::optional<ChangedHotJob> job = changed_hot_job(planner, seed);
    if (!job) continue;
    ReplanRequest request;
    if (seed % 3 == 1) request.most_moved_bytes = std::int64_t{1} << 30;
    if (seed % 3 == 2) request.ms_per_moved_gib = 1.0;
    const ReplanResult near = planner.replan(job->task, job->running, request);
    ASSERT_TRUE(near.result.plan);
    const Plan& plan = *near.result.plan;
    EXPECT_THAT(check_plan(plan, job->task), IsEmpty());
    EXPECT_EQ(planner.simulate(job->task, plan).cost_ms, near.result.cost.cost_ms);
    EXPECT_EQ(moved_bytes(near.moves), near.moved_bytes);
    if (job->task.exchange.hot_rows) {
      kept += plan.hot_rows == job->running.plan.hot_rows ? 1 : 0;
      others += plan.hot_rows != job->running.plan.hot_rows ? 1 : 0;
    } else {
      EXPECT_THAT(plan.hot_rows, IsEmpty());
    }
    expect_moves_are_enough(*job, near);
    const ReplanResult within =
        planner.replan(job->task, job->running, {.most_moved_bytes = near.moved_bytes});
    EXPECT_LE(within.moved_bytes, near.moved_bytes);
    expect_moves_are_enough(*job, within);
    // Without a change it stays as it is.
    const RunningPlan same{job->running.task, job->running.plan};
    const ReplanResult stays = planner.replan(same.task, same, {.most_moved_bytes = 0});
    EXPECT_EQ(stays.must_move_bytes, 0);
    EXPECT_EQ(stays.moved_bytes, 0);
  }
  EXPECT_GT(kept, testing::kFewTasks ? -1 : 5);
  EXPECT_GT(others, testing::kFewTasks ? -1 : 5);
}

}  // namespace
}  // namespace neuroshard
