#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "neuroshard/planner.h"
#include "random_tasks.h"

namespace neuroshard::testing {

inline Table table_of(const std::string& name, std::int64_t rows, int dim, double pooling_factor) {
  Table table{.name = name, .rows = rows, .dim = dim, .pooling_factor = pooling_factor};
  table.access_histogram[0] = 1.0;
  return table;
}

/// A job, and what has become of it. Tables have few rows, to be counted one by one.
struct SmallChangedJob {
  RunningPlan running;
  Task task;
};

inline std::optional<SmallChangedJob> small_changed_job(const Planner& planner,
                                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SmallChangedJob job;
  job.running.task = random_task(seed);
  Task& before = job.running.task;
  before.devices = 2 + static_cast<int>(random() % 7);
  before.device_list.clear();
  before.memory_bytes = std::int64_t{1} << 30;
  for (std::size_t t = 0; t < before.tables.size(); ++t) {
    Table& table = before.tables[t];
    table.name = "table " + std::to_string(t);
    table.rows = 1 + static_cast<std::int64_t>(random() % 300);
    table.memory = {};
    if (random() % 3 == 0) table.pooling_factor *= 50.0;
  }
  PlanResult plan = planner.plan(before);
  if (!plan.plan) return std::nullopt;
  job.running.plan = *std::move(plan.plan);
  Task& task = job.task = before;
  if (random() % 2 == 0 && task.devices > 2) {
    job.running.lost_devices.push_back(static_cast<int>(random() % 2));
    --task.devices;
  }
  if (random() % 3 == 0) ++task.devices;
  if (random() % 2 == 0) {
    task.tables.push_back(task.tables[random() % task.tables.size()]);
    task.tables.back().name = "added";
  }
  if (random() % 3 == 0) task.tables[random() % task.tables.size()].rows *= 2;
  // Other kinds are best now.
  if (random() % 2 == 0) task.tables[random() % task.tables.size()].pooling_factor *= 100.0;
  return job;
}

/// Its budget is 1.2 times what must be moved, and no more.
inline ReplanRequest without_small_moves(ReplanRequest request = {}) {
  request.small_moves_share = 0.0;
  request.small_moves_bytes = 0;
  return request;
}

/// Eight tables whole on eight devices.
inline RunningPlan whole_tables_job() {
  RunningPlan running;
  running.task.devices = 8;
  running.task.memory_bytes = std::int64_t{1} << 34;
  for (int t = 0; t < 8; ++t) {
    running.task.tables.push_back(table_of("t" + std::to_string(t), 1'000'000, 64, 1.0));
    running.plan.slices.push_back({t, 0, 64, 0, 1'000'000});
    running.plan.shards.push_back({t});
  }
  return running;
}

/// Bytes of all tables of with_small_tables().
inline constexpr std::int64_t kSmallTablesBytes = 8 * 10 * 256 * 4;

/// `task` with eight small tables more.
inline Task with_small_tables(Task task) {
  for (int t = 0; t < 8; ++t) {
    task.tables.push_back(table_of("small" + std::to_string(t), 10, 256, 1.0));
  }
  return task;
}

}  // namespace neuroshard::testing
