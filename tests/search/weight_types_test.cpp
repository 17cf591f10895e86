// Tables that differ in the type of their weights alone have costs of their own, wherever pieces
// are remembered or shared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/plans/slice_tables.h"
#include "neuroshard/backend.h"
#include "neuroshard/planner.h"
#include "neuroshard/table_features.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/piece_catalog.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Makes a task of two kinds of tables, each in all types, in turn.
Task task_of_all_types(int devices) {
  const auto types = all_weight_types();
  Task task{.tables = {}, .devices = devices, .memory_bytes = std::int64_t{1} << 33};
  for (int i = 0; i < 24; ++i) {
    Table table{.name = "t" + std::to_string(i),
                .rows = i % 2 == 0 ? 200'000 : 3'000'000,
                .dim = i % 2 == 0 ? 64 : 128,
                .pooling_factor = i % 2 == 0 ? 20.0 : 6.0,
                .access_histogram = {0.6, 0.2, 0.1, 0.1}};
    table.memory.weight_type = types[static_cast<std::size_t>(i / 2) % types.size()];
    task.tables.push_back(std::move(table));
  }
  return task;
}

/// One shard a device, each slice embedded by itself.
std::vector<double> compute_ms_of(const Backend& backend, const Task& task, const Plan& plan) {
  const OperatorFeatures of_operator(backend.table_features(),
                                     static_cast<double>(task.batch_size));
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  std::vector<double> compute_ms;
  for (const std::vector<int>& shard : plan.shards) {
    std::vector<float> embeddings(shard.size() * width);
    std::vector<std::uint32_t> ids;
    for (const int index : shard) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      std::vector<float> features;
      of_operator.append(table_of(task, slice), slice.dim, features);
      backend.embed_pieces(features, std::span(embeddings).subspan(ids.size() * width, width));
      ids.push_back(static_cast<std::uint32_t>(ids.size()));
    }
    const std::vector<std::uint32_t> offsets{0, static_cast<std::uint32_t>(ids.size())};
    float ms = 0.0F;
    backend.score_shards(embeddings, {offsets, ids}, {&ms, 1});
    compute_ms.push_back(static_cast<double>(ms));
  }
  return compute_ms;
}

TEST(WeightTypes, PlansAndCostsAreTheSameOnEveryBackend) {
  const Task task = task_of_all_types(4);
  const auto scalar = make_cpu_backend(builtin_weights(), {.name = "scalar"});
  // Without replicas, so that operators are those of the slices.
  const auto options = [](const std::string& backend) {
    return PlannerOptions{
        .effort = Effort::kFast, .cuts = Cuts::kColumns, .backend = backend, .threads = 1};
  };
  const PlanResult expected = Planner(builtin_weights(), options("scalar")).plan(task);
  ASSERT_TRUE(expected.plan);
  const std::vector<double> compute_ms = compute_ms_of(*scalar, task, *expected.plan);
  for (const std::string& backend : available_cpu_backends()) {
    SCOPED_TRACE(backend);
    const Planner planner(builtin_weights(), options(backend));
    const PlanResult result = planner.plan(task);
    ASSERT_EQ(result.plan, expected.plan);
    EXPECT_EQ(result.cost.cost_ms, expected.cost.cost_ms);
    const PlanCost cost = planner.simulate(task, *result.plan);
    EXPECT_EQ(cost.cost_ms, result.cost.cost_ms);
    EXPECT_EQ(planner.explain(task, *result.plan).cost.cost_ms, result.cost.cost_ms);
    for (std::size_t d = 0; d < compute_ms.size(); ++d) {
      EXPECT_EQ(cost.devices[d].compute_ms, compute_ms[d]) << d;
    }
  }
}

TEST(WeightTypes, RandomTasksCostWhatTheirSlicesDo) {
  const CostModels models = testing::random_models(3, {.any_batch = true});
  const auto scalar = make_cpu_backend(models, {.name = "scalar"});
  const Planner planner(models, {.effort = Effort::kFast, .cuts = Cuts::kColumns, .threads = 1});
  const auto types = all_weight_types();
  int plans = 0;
  for (const std::uint64_t seed : testing::Seeds(30)) {
    Task task = testing::random_task(seed);
    // Each table four times, in all types.
    const std::vector<Table> tables = task.tables;
    for (std::size_t t = 0; t < types.size(); ++t) {
      for (std::size_t i = 0; i < tables.size(); ++i) {
        if (t > 0) task.tables.push_back(tables[i]);
        task.tables[t * tables.size() + i].memory.weight_type = types[t];
      }
    }
    task.memory_bytes *= 4;
    const PlanResult result = planner.plan(task);
    if (!result.plan) continue;
    ++plans;
    EXPECT_EQ(planner.simulate(task, *result.plan).cost_ms, result.cost.cost_ms);
    const std::vector<double> compute_ms = compute_ms_of(*scalar, task, *result.plan);
    for (std::size_t d = 0; d < compute_ms.size(); ++d) {
      EXPECT_EQ(result.cost.devices[d].compute_ms, compute_ms[d]) << d;
    }
  }
  EXPECT_GT(plans, 10);
}

TEST(WeightTypes, TablesOfDifferentTypesShareNoPieces) {
  const Task task = task_of_all_types(4);
  const auto backend = make_cpu_backend(builtin_weights(), {.name = "scalar"});
  const PieceCatalog catalog(*backend, task);
  for (std::size_t a = 0; a < task.tables.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool same = task.tables[a].rows == task.tables[b].rows &&
                        task.tables[a].memory.weight_type == task.tables[b].memory.weight_type;
      EXPECT_EQ(catalog.whole(a) == catalog.whole(b), same) << a << ", " << b;
    }
  }
}

TEST(WeightTypes, NarrowerOperatorsCostLessButMoreThanTheirShareOfTheBytes) {
  const Task task = task_of_all_types(1);
  const Plan alone{.slices = {{0, 0, 128, 0, 3'000'000}}, .shards = {{0}}};
  const Planner planner(builtin_weights(), {.threads = 1});
  const auto operator_ms = [&](WeightType type) {
    Task one = task;
    one.tables = {task.tables[1]};
    one.tables[0].memory.weight_type = type;
    return planner.simulate(one, alone).devices[0].compute_ms;
  };
  const double fp32_ms = operator_ms(WeightType::kFp32);
  const double fp16_ms = operator_ms(WeightType::kFp16);
  EXPECT_LT(fp16_ms, 0.95 * fp32_ms);
  EXPECT_GT(fp16_ms, 0.5 * fp32_ms);
  EXPECT_EQ(operator_ms(WeightType::kBf16), fp16_ms);
  EXPECT_LT(operator_ms(WeightType::kInt8), 0.95 * fp16_ms);
  EXPECT_GT(operator_ms(WeightType::kInt8), 0.25 * fp32_ms);
}

TEST(WeightTypes, AreAWarningWhereModelsDoNotKnowThem) {
  const Task task = task_of_all_types(4);
  const PlannerOptions fast{.algorithm = Algorithm::kSizeGreedy, .threads = 1};
  EXPECT_THAT(Planner(builtin_weights(), fast).plan(task).cost.warning, IsEmpty());
  EXPECT_THAT(Planner(testing::random_models(1), fast).plan(task).cost.warning,
              HasSubstr("predicted costs of operators are those of fp32"));
  CostModels priced = builtin_weights();
  priced.kind_prices[ShardingKind::kRow] = {};
  EXPECT_THAT(Planner(priced, fast).plan(task).cost.warning, HasSubstr("those of fp32"));
}

}  // namespace
}  // namespace neuroshard
