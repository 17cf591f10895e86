#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bench/inputs/random_comm.h"
#include "bench/scale/scale_point.h"
#include "bench/scale/scale_report.h"
#include "golden.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

using ::testing::HasSubstr;

TEST(Scale, DrawnTaskRepeatsTablesOnlyWhenItMust) {
  const auto& tables = testing::golden_tables();
  const Task task = drawn_task(tables, 1000, 16, 1);
  ASSERT_EQ(task.tables.size(), 1000U);
  std::set<std::pair<std::int64_t, double>> first;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    first.emplace(task.tables[i].rows, task.tables[i].pooling_factor);
  }
  std::set<std::pair<std::int64_t, double>> all;
  for (const Table& table : tables) all.emplace(table.rows, table.pooling_factor);
  EXPECT_EQ(first, all);
  EXPECT_NO_THROW(validate(task));
  std::int64_t total = 0;
  for (const Table& table : task.tables) {
    total += table.size_bytes();
    EXPECT_LE(table.size_bytes(), task.memory_bytes);
  }
  EXPECT_GE(task.memory_bytes * task.devices, 2 * total - task.devices);
  EXPECT_NE(drawn_task(tables, 10, 2, 2).tables[0].rows, task.tables[0].rows);
}

TEST(Scale, RandomWeightsStandInOnlyWhereThereIsNoModel) {
  CostModels models = testing::golden_models();
  EXPECT_FALSE(complete_with_random_comm(models, 16));
  EXPECT_FALSE(models.symmetric_comm.has_value());
  EXPECT_TRUE(complete_with_random_comm(models, 40));
  EXPECT_NO_THROW(validate(models));
  EXPECT_TRUE(models.has_comm_for(1024));
}

TEST(Scale, MeasuresAPoint) {
  PlannerOptions options{
      .search = {.beam_width = 1, .candidates = 2, .max_splits = 1, .grid_steps = 2}, .threads = 1};
  const ScalePoint point = measure_scale_point(
      testing::golden_models(), drawn_task(testing::golden_tables(), 60, 3, 1), options, 0.0);
  EXPECT_EQ(point.tables, 60);
  EXPECT_EQ(point.devices, 3);
  EXPECT_EQ(point.plans, 1);
  EXPECT_TRUE(point.random_comm);
  EXPECT_GT(point.candidates, 0);
  EXPECT_GT(point.search_ms, 0.0);
  EXPECT_GE(point.peak_bytes, point.initial_bytes);

  const ScalePoint read = scale_point_from_json(to_json(point));
  EXPECT_EQ(to_json(read), to_json(point));
  EXPECT_THROW((void)scale_point_from_json("{}"), Error);
}

ScaleResult result(int tables, double search_ms) {
  ScalePoint point;
  point.tables = tables;
  point.devices = 4;
  point.search_ms = search_ms;
  point.plans = 3;
  return {.task_file = "", .tables = tables, .devices = 4, .point = point, .failure = ""};
}

TEST(Scale, GrowthIsTheExponentOfTheSize) {
  const std::vector<ScaleResult> results = {result(10, 1.0),
                                            result(100, 10.0),
                                            result(1000, 1000.0),
                                            {.task_file = "",
                                             .tables = 2000,
                                             .devices = 4,
                                             .point = std::nullopt,
                                             .failure = "> 60,000"}};
  const std::string table = scale_table(results);
  EXPECT_THAT(table, HasSubstr("|   1.00 |"));
  EXPECT_THAT(table, HasSubstr("|   2.00 |"));
  EXPECT_THAT(table, HasSubstr("> 60,000"));
  EXPECT_THAT(scale_chart(results, {}), HasSubstr("Search time, 4 devices"));
}

// compare.py pools benchmarks of one name.
TEST(Scale, TaskFileAndDrawnTaskOfOneSizeHaveDifferentNames) {
  ScaleResult of_file = result(1022, 1.0);
  of_file.task_file = "some/folder/jumbo_128gpu.json";
  ScaleResult too_slow = result(5000, 1.0);
  too_slow.point.reset();
  JsonReport report;
  for (const ScaleResult& each : {result(1022, 1.0), of_file, too_slow}) {
    add_to_report(report, each, 1);
  }
  const auto json = nlohmann::json::parse(report.str({}));
  std::set<std::string> names;
  for (const auto& run : json.at("benchmarks")) names.insert(run.at("run_name"));
  EXPECT_THAT(names, ::testing::ElementsAre("scale/jumbo_128gpu/tables:1022/devices:4",
                                            "scale/tables:1022/devices:4"));
}

}  // namespace
}  // namespace neuroshard::bench
