#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "weights/collection/ranks/host_exchange.h"
#include "weights/measurement/initial_weights.h"
#include "weights/measurement/rank_iteration.h"

namespace neuroshard::ranks {

/// A small task, with what an unsharded scalar operator makes of some iterations of it.
struct TrainingCase {
  static constexpr std::int64_t kBatch = 70;  // 4 ranks have 17 samples each, 2 are left over.
  static constexpr int kIterations = 3;
  static constexpr float kLearningRate = 0.02F;

  Task task;
  Plan plan;
  StreamStore streams;

  /// [table][row * dim + column] and [table][sample * dim + column] after the iterations.
  std::vector<std::vector<double>> weights;
  std::vector<std::vector<double>> pooled;

  TrainingCase(int devices, Plan of_task)
      : task(small_task(devices)),
        plan(std::move(of_task)),
        streams(task.tables, kBatch, /*seed=*/3, std::size_t{1} << 20) {
    validate(plan, task);
    train();
  }
  TrainingCase(const TrainingCase&) = delete;
  TrainingCase& operator=(const TrainingCase&) = delete;

  static Task small_task(int devices) {
    Task task;
    task.devices = devices;
    task.memory_bytes = std::int64_t{1} << 30;
    task.batch_size = kBatch;
    struct Shape {
      std::int64_t rows;
      int dim;
      double pooling_factor;
    };
    for (const auto& [rows, dim, pooling_factor] : {Shape{300, 32, 3.0},
                                                    {50, 20, 1.5},
                                                    {7, 12, 4.0},
                                                    {1, 4, 0.5},
                                                    {40, 8, 0.0},
                                                    {200, 16, 6.0}}) {
      Table table{.name = {}, .rows = rows, .dim = dim, .pooling_factor = pooling_factor};
      if (pooling_factor > 0.0) table.access_histogram = {0.5, 0.3, 0.2};
      // If it is replicated, every other one.
      if (task.tables.size() % 2 == 1) table.replica_gradients = ReplicaGradients::kTouched;
      task.tables.push_back(table);
    }
    return task;
  }

  /// Checks what `iteration`, at the end of its iterations, has on rank `rank`.
  void expect_trained(RankIteration& iteration, int rank) const {
    const std::int64_t samples = kBatch / task.devices;
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      SCOPED_TRACE("rank " + std::to_string(rank) + ", table " + std::to_string(t));
      const std::vector<float> values = iteration.pooled(static_cast<int>(t));
      const std::int64_t first = rank * samples * task.tables[t].dim;
      for (std::size_t i = 0; i < values.size(); ++i) {
        expect_near(values[i], pooled[t][static_cast<std::size_t>(first) + i]);
      }
    }
    const std::vector<int>& shard = plan.shards[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < shard.size(); ++i) {
      expect_weights(iteration.slice_weights(i), plan.slices[static_cast<std::size_t>(shard[i])]);
    }
    for (std::size_t i = 0; i < plan.replicas.size(); ++i) {
      const int table = plan.replicas[i];
      const Table& whole = task.tables[static_cast<std::size_t>(table)];
      expect_weights(iteration.replica_weights(i), {table, 0, whole.dim, 0, whole.rows});
    }
  }

 private:
  static void expect_near(float value, double expected) {
    ASSERT_NEAR(value, expected, 1e-6 + 1e-4 * std::abs(expected));
  }

  void expect_weights(const float* values, const TableSlice& slice) const {
    const auto table = static_cast<std::size_t>(slice.table);
    SCOPED_TRACE("weights of table " + std::to_string(table));
    for (std::int64_t row = 0; row < slice.rows; ++row) {
      for (int column = 0; column < slice.dim; ++column) {
        const std::int64_t at =
            (slice.first_row + row) * task.tables[table].dim + slice.first_column + column;
        expect_near(values[row * slice.dim + column], weights[table][static_cast<std::size_t>(at)]);
      }
    }
  }

  // Calls use(place in pooled, place in weights) for every number looked up.
  template <typename Use>
  void visit(std::size_t table, Use use) {
    const auto stream = streams.stream(table);
    const auto dim = static_cast<std::size_t>(task.tables[table].dim);
    const auto samples = static_cast<std::size_t>(kBatch / task.devices * task.devices);
    for (std::size_t s = 0; s < samples; ++s) {
      for (auto i = stream->offsets[s]; i < stream->offsets[s + 1]; ++i) {
        const auto row = static_cast<std::size_t>(stream->indices[static_cast<std::size_t>(i)]);
        for (std::size_t c = 0; c < dim; ++c) use(s * dim + c, row * dim + c);
      }
    }
  }

  void train() {
    double change = 0.0;
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      const Table& table = task.tables[t];
      std::vector<double>& w = weights.emplace_back();
      for (std::int64_t row = 0; row < table.rows; ++row) {
        for (int column = 0; column < table.dim; ++column) {
          w.push_back(initial_weight(static_cast<int>(t), row, column));
        }
      }
      const std::vector<double> before = w;
      std::vector<double>& sums = pooled.emplace_back();
      for (int i = 0; i <= kIterations; ++i) {
        if (i > 0) {
          visit(t, [&](std::size_t at, std::size_t weight) {
            w[weight] -= static_cast<double>(kLearningRate) * sums[at];
          });
        }
        sums.assign(static_cast<std::size_t>(kBatch * table.dim), 0.0);
        visit(t, [&](std::size_t at, std::size_t weight) { sums[at] += w[weight]; });
      }
      for (std::size_t i = 0; i < w.size(); ++i) {
        change = std::max(change, std::abs(w[i] - before[i]));
      }
    }
    EXPECT_GT(change, 1e-3);  // Else nothing was learnt.
  }
};

/// As RankIteration over `group`, as many ranks as devices, and checks it.
inline void train_and_check(const RankGroup& group, TrainingCase& test, int threads = 1) {
  ThreadTeam team(threads);
  const auto exchange = make_host_exchange(group);
  const PlanRun run{test.task, test.plan, test.streams, TrainingCase::kLearningRate};
  RankIteration iteration(group, *exchange, team, run,
                          device_weights(team, run, static_cast<std::size_t>(group.rank())));
  for (int i = 0; i < TrainingCase::kIterations; ++i) {
    const PhaseTimes times = iteration.run();
    for (const double ms : times.ms) EXPECT_GE(ms, 0.0);
  }
  test.expect_trained(iteration, group.rank());
}

/// Each table cut at random into rectangles, of columns, of rows or of both, or replicated, on
/// random devices.
inline Plan random_plan(int devices, std::uint64_t seed) {
  Random random(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  const Task task = TrainingCase::small_task(devices);
  Plan plan;
  for (int t = 0; t < static_cast<int>(task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    if (below(5) == 0) {
      plan.replicas.push_back(t);
      continue;
    }
    std::vector<TableSlice> parts = {{t, 0, table.dim, 0, table.rows}};
    for (std::int64_t cuts = below(6); cuts > 0; --cuts) {
      TableSlice& cut = parts[static_cast<std::size_t>(below(std::ssize(parts)))];
      TableSlice rest = cut;
      if (below(2) == 0 && cut.dim > 4) {
        cut.dim = static_cast<int>(4 * (1 + below(cut.dim / 4 - 1)));
        rest.first_column += cut.dim;
        rest.dim -= cut.dim;
      } else if (cut.rows > 1) {
        cut.rows = 1 + below(cut.rows - 1);
        rest.first_row += cut.rows;
        rest.rows -= cut.rows;
      } else {
        continue;
      }
      parts.push_back(rest);
    }
    plan.slices.insert(plan.slices.end(), parts.begin(), parts.end());
  }
  plan.shards.resize(static_cast<std::size_t>(devices));
  for (int i = 0; i < static_cast<int>(plan.slices.size()); ++i) {
    plan.shards[static_cast<std::size_t>(below(devices))].push_back(i);
  }
  return plan;
}

}  // namespace neuroshard::ranks
