#include "bench/plans/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace neuroshard::bench {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two tasks, of which the published search was run on the second, and found a plan if it has a
// cost.
TaskSet two_tasks(std::optional<double> cost_ms = 5.0) {
  return {.name = "set",
          .tasks = std::vector<Task>(2),
          .published = {std::nullopt, PublishedRun{cost_ms, 4.0}}};
}

PlanTimes three_rounds(const PlanConfig& config, double factor) {
  PlanTimes times{.config = config, .rounds = {}, .planned = 1};
  for (const double noise : {0.0, 1.0, 8.0}) {
    times.rounds.push_back({.wall_ms = {10.0 * factor + noise, 20.0 * factor + noise},
                            .cpu_ms = {5.0 * factor, 10.0 * factor},
                            .total = {30.0 * factor + 2.0 * noise, 15.0 * factor},
                            .plans = 2});
  }
  return times;
}

TEST(PlanReport, SummaryTakesTheMedianRoundOfEachTask) {
  const PlanSummary summary = summarize(three_rounds({.backend = "avx2"}, 1.0), two_tasks());
  EXPECT_THAT(summary.wall_ms, ElementsAre(11.0, 21.0));
  EXPECT_THAT(summary.cpu_ms, ElementsAre(5.0, 10.0));
  EXPECT_DOUBLE_EQ(summary.plans_per_second, 2.0 / 0.032);
  EXPECT_DOUBLE_EQ(summary.cpu_ms_per_plan, 7.5);
  EXPECT_DOUBLE_EQ(summary.spread, 16.0 / 32.0);
  EXPECT_THAT(summary.speedups, ElementsAre(DoubleEq(4000.0 / 21.0)));
  EXPECT_THAT(summary.speedups_with_plan, ElementsAre(DoubleEq(4000.0 / 21.0)));
  EXPECT_THAT(summary.cpu_speedups, ElementsAre(DoubleEq(400.0)));
  const PlanSummary gave_up =
      summarize(three_rounds({.backend = "avx2"}, 1.0), two_tasks(std::nullopt));
  EXPECT_EQ(gave_up.speedups.size(), 1U);
  EXPECT_TRUE(gave_up.speedups_with_plan.empty());
}

TEST(PlanReport, CombinesSetsTaskByTask) {
  const PlanSummary one = summarize(three_rounds({.backend = "avx2"}, 1.0), two_tasks());
  const PlanSummary other = summarize(three_rounds({.backend = "avx2"}, 2.0), two_tasks());
  const std::vector<PlanSummary> both = combined({{one}, {other}});
  ASSERT_EQ(both.size(), 1U);
  EXPECT_THAT(both[0].wall_ms, ElementsAre(11.0, 21.0, 21.0, 41.0));
  EXPECT_EQ(both[0].speedups.size(), 2U);
  EXPECT_EQ(both[0].tasks, 4U);
  EXPECT_EQ(both[0].planned, 2U);
  EXPECT_DOUBLE_EQ(both[0].plans_per_second, 4.0 / (0.032 + 0.062));
  EXPECT_DOUBLE_EQ(both[0].cpu_ms_per_plan, (15.0 + 30.0) / 4.0);
}

TEST(PlanReport, TableComparesWithTheConfigWithoutReuse) {
  const std::vector<PlanSummary> rows = {
      summarize(three_rounds({.backend = "avx2", .reuse_work = false}, 4.0), two_tasks()),
      summarize(three_rounds({.backend = "avx2"}, 1.0), two_tasks())};
  const std::string table = plan_table(rows);
  EXPECT_THAT(table, HasSubstr("vs no reuse"));
  EXPECT_THAT(table, HasSubstr("1 of 2"));
  EXPECT_THAT(table, HasSubstr("avx2, 1 thread, no reuse"));
  EXPECT_THAT(table, HasSubstr("1.00x"));
  EXPECT_THAT(table, HasSubstr("3.81x"));  // 122 ms to 32 ms.
  EXPECT_THAT(table, HasSubstr("190x"));   // 4 s to 21 ms.
}

TEST(PlanConfig, NamesSayWhatIsSpecial) {
  EXPECT_EQ((PlanConfig{.backend = "cuda"}).name(), "cuda, 1 thread");
  EXPECT_EQ((PlanConfig{.backend = "avx2", .threads = 2, .concurrency = 4}).name(),
            "avx2, 2 threads, 4 callers");
  EXPECT_EQ((PlanConfig{.backend = "avx2", .reuse_work = false}).path(),
            "backend:avx2/threads:1/reuse:0");
  EXPECT_EQ((PlanConfig{.backend = "avx2", .search = "as_published"}).name(),
            "avx2, 1 thread, as published");
  EXPECT_EQ((PlanConfig{.backend = "avx2", .batch = 64}).path(), "backend:avx2/threads:1/batch:64");
}

}  // namespace
}  // namespace neuroshard::bench
