#include "search/replanning/changed_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "random_tasks.h"

namespace neuroshard::testing {
namespace {

using Column = std::pair<std::string, int>;  ///< A table's name, and one of its columns.

/// Columns that each device of the new task holds before any move.
std::vector<std::map<Column, bool>> columns_held(const ChangedJob& job) {
  std::vector<std::map<Column, bool>> held;
  const auto by_device = slices_by_device(job.running.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    const auto& lost = job.running.lost_devices;
    if (std::find(lost.begin(), lost.end(), static_cast<int>(device)) != lost.end()) continue;
    std::map<Column, bool>& columns = held.emplace_back();
    for (const TableSlice& slice : by_device[device]) {
      const Table& table = job.running.task.tables[static_cast<std::size_t>(slice.table)];
      for (int i = 0; i < slice.dim; ++i) columns[{table.name, slice.first_column + i}] = true;
    }
  }
  held.resize(static_cast<std::size_t>(job.task.devices));
  return held;
}

}  // namespace

std::optional<ChangedJob> changed_job(const Planner& planner, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  ChangedJob job;
  job.running.task = random_task(seed);
  for (std::size_t i = 0; i < job.running.task.tables.size(); ++i) {
    job.running.task.tables[i].name = "table " + std::to_string(i);
  }
  PlanResult plan = planner.plan(job.running.task);
  if (!plan.plan) return std::nullopt;
  job.running.plan = *std::move(plan.plan);
  job.task = job.running.task;
  std::vector<Table>& tables = job.task.tables;
  const auto device = static_cast<int>(below(static_cast<std::size_t>(job.task.devices)));
  if (below(2) == 0 && job.task.devices > 1) {
    job.running.lost_devices.push_back(device);
    --job.task.devices;
  } else if (below(3) == 0) {
    ++job.task.devices;
  }
  if (below(2) == 0) {
    tables.push_back(tables[below(tables.size())]);
    tables.back().name = "added";
  }
  if (below(3) == 0) tables[below(tables.size())].rows *= 2;
  if (below(3) == 0) tables[below(tables.size())].pooling_factor *= 3.0;
  if (below(3) == 0 && tables.size() > 1) {
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(below(tables.size())));
  }
  std::shuffle(tables.begin(), tables.end(), random);
  return job;
}

std::int64_t rows_before(const ChangedJob& job, const std::string& name) {
  for (const Table& table : job.running.task.tables) {
    if (table.name == name) return table.rows;
  }
  return 0;
}

void expect_moves_make_the_plan(const ChangedJob& job, const ReplanResult& replanned) {
  const auto held = columns_held(job);
  using Rows = std::map<std::int64_t, std::int64_t>;  // First, count.
  std::vector<std::map<Column, Rows>> received(held.size());
  std::int64_t bytes = 0;
  for (const TableMove& move : replanned.moves) {
    bytes += move.bytes;
    const Table& table = job.task.tables[static_cast<std::size_t>(move.columns.table)];
    const RowBytes row = stored_bytes(table.memory);
    const std::int64_t row_bytes = row.per_column * move.columns.dim + row.per_row;
    EXPECT_GT(move.rows, 0);
    EXPECT_EQ(move.bytes, move.rows * row_bytes);
    for (int i = 0; i < move.columns.dim; ++i) {
      const Column column{table.name, move.columns.first_column + i};
      if (move.from >= 0) {
        EXPECT_TRUE(held[static_cast<std::size_t>(move.from)].contains(column));
        EXPECT_LE(move.first_row + move.rows, rows_before(job, table.name));
      }
      EXPECT_NE(move.from, move.to);
      const bool is_new = received[static_cast<std::size_t>(move.to)][column]
                              .emplace(move.first_row, move.rows)
                              .second;
      EXPECT_TRUE(is_new);
    }
  }
  EXPECT_EQ(bytes, replanned.moved_bytes);
  const auto by_device = slices_by_device(*replanned.result.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      const Table& table = job.task.tables[static_cast<std::size_t>(slice.table)];
      for (int i = 0; i < slice.dim; ++i) {
        const Column column{table.name, slice.first_column + i};
        const std::int64_t rows_held =
            held[device].contains(column) ? std::min(table.rows, rows_before(job, table.name)) : 0;
        std::int64_t has = rows_held;
        for (const auto& [first_row, rows] : received[device][column]) {
          EXPECT_EQ(first_row, has);
          has += rows;
        }
        EXPECT_EQ(has, table.rows);
        received[device].erase(column);
      }
    }
    EXPECT_TRUE(received[device].empty()) << "a move that the plan has no use for";
  }
}

}  // namespace neuroshard::testing
