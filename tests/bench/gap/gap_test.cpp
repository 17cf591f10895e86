#include "bench/gap/gap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/gap/gap_report.h"
#include "golden.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

using ::testing::HasSubstr;

const std::string kTableSets = std::string(NEUROSHARD_TEST_DATA) + "/../../bench/data/table_sets";

TEST(GapCases, TableSetsAreReadForEveryDeviceCountThatHoldsThem) {
  const auto all = table_set_cases(kTableSets, {}, {8, 1024}, 40.0);
  const auto on = [&](int devices) {
    return std::ranges::count_if(all, [&](const auto& c) { return c.task.devices == devices; });
  };
  EXPECT_EQ(on(1024), 26);
  EXPECT_LT(on(8), 26);
  EXPECT_GT(on(8), 15);
  const auto one = table_set_cases(kTableSets, {"kdd12_nasrec"}, {64}, 2.5);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].name, "kdd12_nasrec");
  EXPECT_EQ(one[0].task.tables.size(), 10U);
  EXPECT_EQ(one[0].task.devices, 64);
  EXPECT_EQ(one[0].task.memory_bytes, bytes_from_gib(2.5));
  EXPECT_THROW((void)table_set_cases("no-such-folder", {}, {8}, 40.0), Error);
  EXPECT_THROW((void)table_set_cases(kTableSets, {"elsewhere"}, {8}, 40.0), Error);
}

TEST(GapCases, RandomTasksAreTheSameWhateverTheirNumber) {
  const auto few = random_cases(testing::golden_tables(), 5, 1);
  const auto many = random_cases(testing::golden_tables(), 60, 1);
  ASSERT_LE(few.size(), 5U);
  ASSERT_LE(many.size(), 60U);
  std::set<int> devices;
  for (std::size_t i = 0; i < many.size(); ++i) {
    const Task& task = many[i].task;
    EXPECT_NO_THROW(validate(task));
    devices.insert(task.devices);
    EXPECT_GE(task.tables.size(), 2U);
    EXPECT_LE(task.tables.size(), 100U);
    EXPECT_EQ(task.memory_bytes, bytes_from_gib(16.0));
    if (i >= few.size()) continue;
    EXPECT_EQ(few[i].name, many[i].name);
    EXPECT_EQ(few[i].task.tables.size(), task.tables.size());
    EXPECT_EQ(few[i].task.tables[1].rows, task.tables[1].rows);
  }
  EXPECT_THAT(devices, ::testing::ElementsAre(4, 8, 16));
  EXPECT_NE(random_cases(testing::golden_tables(), 5, 2)[0].task.tables[0].rows,
            few[0].task.tables[0].rows);
}

TEST(GapCases, WideTasksAreTheSameWhateverTheirNumber) {
  const auto few = wide_cases(4, 64, 40.0, 1);
  const auto many = wide_cases(12, 64, 40.0, 1);
  ASSERT_GE(few.size(), 1U);
  ASSERT_GE(many.size(), few.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_NO_THROW(validate(few[i].task));
    EXPECT_EQ(few[i].name, many[i].name);
    EXPECT_EQ(few[i].task.tables.size(), many[i].task.tables.size());
    EXPECT_EQ(few[i].task.tables.back().rows, many[i].task.tables.back().rows);
    EXPECT_EQ(few[i].task.tables.back().dim, many[i].task.tables.back().dim);
  }
}

TEST(GapCases, GoldenTasksAreNamedAfterTheirSet) {
  const GoldenFolder folder(std::string(NEUROSHARD_TEST_DATA) + "/golden");
  const auto cases = golden_cases(folder, {"2gpu_dim32", "4gpu_dim128"}, 3);
  ASSERT_EQ(cases.size(), 6U);
  EXPECT_EQ(cases[4].name, "4gpu_dim128 task 1");
  EXPECT_EQ(cases[4].task.devices, 4);
  EXPECT_EQ(golden_cases(folder, {}, 1).size(), 12U);
}

TEST(Gap, JudgesOursAgainstUniformAndAnnealing) {
  const CostModels& models = testing::golden_models();
  PlannerOptions options;
  options.threads = 1;
  options.effort = Effort::kFast;  // Which leaves something to be gained.
  const Planner planner(models, options);
  options.algorithm = Algorithm::kUniform;
  const Planner uniform(models, options);
  const CpuBackend backend(select_cpu_kernels("auto"), models, true);
  const GapCase gap_case{"a case", testing::golden_task("4gpu_dim64", 1)};
  const GapResult result = measure_gap(backend, planner, uniform, gap_case, {.steps = 3000});
  EXPECT_EQ(result.name, "a case");
  EXPECT_EQ(result.devices, 4);
  EXPECT_EQ(result.ours->cost_ms, planner.plan(gap_case.task).cost.cost_ms);
  EXPECT_EQ(result.uniform->cost_ms, uniform.plan(gap_case.task).cost.cost_ms);
  EXPECT_LT(result.annealed->cost_ms, std::min(result.ours->cost_ms, result.uniform->cost_ms));
  const GapResult without = measure_gap(backend, planner, uniform, gap_case, {.steps = 0});
  EXPECT_FALSE(without.annealed);
  EXPECT_TRUE(without.ours);
}

TEST(Gap, StageCostsFallFromUniformToThePlan) {
  const Task task = testing::golden_task("4gpu_dim64", 1);
  PlannerOptions options;
  options.threads = 1;
  const Planner planner(testing::golden_models(), options);
  const StageCosts stages = find_stage_costs(planner, task);
  ASSERT_GT(stages.size(), 2U);
  EXPECT_EQ(stages.begin()->first, SearchStage::kUniform);
  double before = std::numeric_limits<double>::infinity();
  for (const auto& [stage, cost_ms] : stages) {
    EXPECT_LT(cost_ms, before) << name_of(stage);
    before = cost_ms;
  }
  const double cost_ms = planner.plan(task).cost.cost_ms;
  EXPECT_LE(before, cost_ms);
  EXPECT_LE(cost_ms, before * 1.001);
}

GapPlan plan(double cost_ms, int slices, int empty_devices = 0) {
  return {.cost_ms = cost_ms, .time = {2.0, 1.0}, .slices = slices, .empty_devices = empty_devices};
}

const std::vector<GapResult> kResults = {
    {"one",
     8,
     10,
     plan(2.0, 11),
     plan(1.0, 20),
     plan(0.5, 21),
     {},
     {{SearchStage::kUniform, 4.0}, {SearchStage::kImprovement, 2.0}}},
    {"two",
     8,
     10,
     plan(2.0, 13),
     plan(4.0, 40),
     std::nullopt,
     {},
     {{SearchStage::kUniform, 4.0}, {SearchStage::kPublished, 2.0}}},
    {"three", 8, 10, std::nullopt, plan(4.0, 40), std::nullopt, {}, {}},
    {"four",
     64,
     10,
     plan(1.01, 10, 54),
     plan(1.0, 20),
     std::nullopt,
     {},
     {{SearchStage::kGreedy, 1.01}}}};

std::vector<std::string> rows_without_spaces(const std::string& table) {
  std::vector<std::string> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, ' ');
    rows.push_back(line);
  }
  return rows;
}

TEST(GapReport, SummaryCountsOnlyWhereBothHaveAPlan) {
  const std::vector<std::string> rows = rows_without_spaces(gap_summary(kResults));
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[2], "|8|3|1|1.000|2.000|1|1|1|4.000|4.000|12.0|33.3|21.0|2.00|");
  EXPECT_EQ(rows[3], "|64|1|0|1.010|1.010|1|0|0|-|-|10.0|20.0|-|2.00|");
  EXPECT_THAT(rows[4], HasSubstr("|all|4|1|1.003|2.000|2|1|1|4.000|"));
}

TEST(GapReport, StagesShowTheBestPlanAfterEach) {
  const std::vector<std::string> rows = rows_without_spaces(stages_table(kResults));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0], "|after|8|64|all|foundthebest|");
  EXPECT_EQ(rows[2], "|uniform|2.000|-|2.000|0|");
  EXPECT_EQ(rows[3], "|greedy|2.000|1.010|1.593|1|");
  EXPECT_EQ(rows[4], "|published|1.414|1.010|1.264|1|");
  EXPECT_EQ(rows[5], "|improvement|1.000|1.010|1.003|1|");
}

TEST(GapReport, TableChartAndJsonHoldEveryCase) {
  const std::string table = gap_table(kResults);
  EXPECT_THAT(table, HasSubstr("| three "));
  EXPECT_THAT(table, HasSubstr("|            54 |"));
  const std::string chart = gap_chart(kResults);
  EXPECT_THAT(chart, HasSubstr("over annealed"));
  EXPECT_THAT(chart, ::testing::Not(HasSubstr("nan")));
  JsonReport report;
  for (const GapResult& result : kResults) add_to_report(report, result, 1);
  const auto json = nlohmann::json::parse(report.str({}));
  std::set<std::string> names;
  for (const auto& run : json.at("benchmarks")) names.insert(run.at("run_name"));
  EXPECT_THAT(names, ::testing::ElementsAre("gap/four/devices:64", "gap/one/devices:8",
                                            "gap/two/devices:8"));
  const auto& aggregate = json.at("benchmarks")[1];
  EXPECT_EQ(aggregate.at("annealed_slices"), 21);
  EXPECT_EQ(aggregate.at("our_cost_ms"), 2.0);
}

}  // namespace
}  // namespace neuroshard::bench
