// Costs of plans with columns of any widths, row blocks and grids, worked out by hand.
#include "neuroshard/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/placement/cpu_backend.h"
#include "neuroshard/backend.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using Vector = std::vector<double>;

Vector outputs_of(const Mlp& mlp, Vector x, bool relu_after_last) {
  for (std::size_t k = 0; k < mlp.layers.size(); ++k) {
    const DenseLayer& layer = mlp.layers[k];
    Vector y(layer.bias.begin(), layer.bias.end());
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        y[o] += static_cast<double>(layer.weight[o * x.size() + i]) * x[i];
      }
      if (k + 1 < mlp.layers.size() || relu_after_last) y[o] = std::max(y[o], 0.0);
    }
    x = std::move(y);
  }
  return x;
}

Vector normalized_in_fp64(Vector x, const Normalization& features) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = (x[i] - static_cast<double>(features.mean[i])) / static_cast<double>(features.std[i]);
  }
  return x;
}

/// Embedding of a slice as a table by itself, before the head.
Vector embedding_of(const CostModels& models, const Table& table, int dim, std::int64_t rows,
                    double pooling_factor) {
  Vector x;
  for (const std::string& name : table_feature_names()) {
    if (name == "dim") {
      x.push_back(dim);
    } else if (name == "row") {
      x.push_back(static_cast<double>(rows));
    } else if (name == "pooling_factor") {
      x.push_back(pooling_factor);
    } else {
      x.push_back(table.access_histogram[static_cast<std::size_t>(std::stoi(name.substr(4)))]);
    }
  }
  return outputs_of(models.compute.table_network, normalized_in_fp64(x, models.compute.features),
                    true);
}

Task two_simulated_tables() {
  Task task{.tables = {{"a", 1000, 384, 12.0, {}}, {"b", 600, 64, 4.0, {}}}};
  task.tables[0].access_histogram[0] = task.tables[0].access_histogram[3] = 0.5;
  task.tables[1].access_histogram[1] = 1.0;
  task.devices = 2;
  task.memory_bytes = 2'000'000;
  return task;
}

// Table a in three times 128 columns, the last one in two row blocks; b in row blocks of 450 and
// 150 of which the first is halved.
const Plan kUnequalGrid{{{0, 0, 128, 0, 1000},
                         {0, 128, 128, 0, 1000},
                         {0, 256, 128, 0, 250},
                         {0, 256, 128, 250, 750},
                         {1, 0, 32, 0, 450},
                         {1, 32, 32, 0, 450},
                         {1, 0, 64, 450, 150}},
                        {{0, 2, 4, 6}, {1, 3, 5}}};

TEST(Simulator, AGridPlanCostsWhatItsPartsDoByHand) {
  const CostModels models = testing::random_models(9, {.devices = {2}});
  const Task task = two_simulated_tables();
  const Table& a = task.tables[0];
  const Table& b = task.tables[1];
  // Each slice with its rows, and its share of the lookups.
  const std::vector<std::vector<Vector>> embeddings = {
      {embedding_of(models, a, 128, 1000, 12.0), embedding_of(models, a, 128, 250, 3.0),
       embedding_of(models, b, 32, 450, 3.0), embedding_of(models, b, 64, 150, 1.0)},
      {embedding_of(models, a, 128, 1000, 12.0), embedding_of(models, a, 128, 750, 9.0),
       embedding_of(models, b, 32, 450, 3.0)}};
  Vector compute_ms;
  for (const auto& shard : embeddings) {
    Vector sum(shard[0].size(), 0.0);
    for (const Vector& embedding : shard) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += embedding[i];
    }
    compute_ms.push_back(outputs_of(models.compute.head, sum, false)[0]);
  }
  // In the all-to-alls each slice counts with all of its columns.
  const Vector dim_sums = {128 + 128 + 32 + 64, 128 + 128 + 32};
  const CommModel& comm = models.dense_comm.at(2);
  const auto& backward = std::get<DenseCommNetwork>(comm.backward);
  const auto& forward = std::get<DenseCommNetwork>(comm.forward);
  const Vector backward_ms =
      outputs_of(backward.network, normalized_in_fp64(dim_sums, backward.features), false);
  const double ready0 = compute_ms[0] + backward_ms[0];
  const double ready1 = compute_ms[1] + backward_ms[1];
  const double first = std::min(ready0, ready1);
  const Vector forward_ms =
      outputs_of(forward.network,
                 normalized_in_fp64({dim_sums[0], dim_sums[1], ready0 - first, ready1 - first},
                                    forward.features),
                 false);

  const auto backend = make_cpu_backend(models, {.name = "scalar"});
  const PlanCost cost = simulate(*backend, task, kUnequalGrid);
  double slowest_ms = -INFINITY;
  for (std::size_t d = 0; d < 2; ++d) {
    const auto near = [](double by_hand) { return 1e-4 * std::max(1.0, std::abs(by_hand)); };
    EXPECT_NEAR(cost.devices[d].compute_ms, compute_ms[d], near(compute_ms[d]));
    EXPECT_NEAR(cost.devices[d].backward_ms, backward_ms[d], near(backward_ms[d]));
    EXPECT_NEAR(cost.devices[d].forward_ms, forward_ms[d], near(forward_ms[d]));
    EXPECT_EQ(static_cast<double>(cost.devices[d].dim_sum), dim_sums[d]);
    slowest_ms = std::max(slowest_ms, cost.devices[d].total_ms());
  }
  EXPECT_EQ(cost.cost_ms, slowest_ms);
  EXPECT_EQ(cost.devices[0].memory_bytes, 4 * (128 * 1000 + 128 * 250 + 32 * 450 + 64 * 150));
  EXPECT_EQ(cost.devices[1].memory_bytes, 4 * (128 * 1000 + 128 * 750 + 32 * 450));
  EXPECT_TRUE(cost.fits_memory);
}

// To the last bit, on every backend: slices are tables of their own.
TEST(Simulator, SlicesCostWhatTablesLikeThemDo) {
  const CostModels models = testing::random_models(10);
  const Task task = two_simulated_tables();
  Task of_slices = task;
  of_slices.tables.clear();
  for (const TableSlice& slice : kUnequalGrid.slices)
    of_slices.tables.push_back(table_of(task, slice));
  for (const std::string& name : cpu_backends()) {
    SCOPED_TRACE(name);
    const auto backend = make_cpu_backend(models, {.name = name});
    const PlanCost cost = simulate(*backend, task, kUnequalGrid);
    const PlanCost same =
        simulate(*backend, of_slices, {whole_tables(of_slices), kUnequalGrid.shards});
    EXPECT_EQ(cost.cost_ms, same.cost_ms);
    for (std::size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(cost.devices[d].compute_ms, same.devices[d].compute_ms);
      EXPECT_EQ(cost.devices[d].memory_bytes, same.devices[d].memory_bytes);
    }
  }
}

}  // namespace
}  // namespace neuroshard
