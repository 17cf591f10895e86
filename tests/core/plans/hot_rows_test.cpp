#include "core/plans/hot_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "core/plans/deduplicated_task.h"
#include "core/plans/replicas.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kDrawnRows = 96'000;

Task task_of_sequences(double exponent, int devices) {
  Table table;
  table.rows = kDrawnRows;
  table.dim = 16;
  table.pooling_factor = 5.0;
  table.access_histogram = zipf_histogram(table.rows, table.pooling_factor, exponent);
  table.popularity = zipf_popularity(table.rows, exponent);
  table.pooling = Pooling::kNone;
  Task task;
  task.tables = {table};
  task.devices = devices;
  task.memory_bytes = std::int64_t{1} << 40;
  task.exchange.hot_rows = true;
  return task;
}

Plan on_first_device(const Task& task, std::int64_t hot) {
  Plan plan{.slices = {{0, 0, 16, 0, task.tables[0].rows - hot}}, .shards = {{0}}};
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  plan.hot_rows = {{0, hot}};
  return plan;
}

/// A batch that is drawn by Zipf's law, with lognormal numbers of lookups: of hot rows, and of the
/// others.
struct DrawnLookups {
  double hot = 0.0;
  double others = 0.0;
  double distinct_hot = 0.0;  ///< Distinct rows of each device's part, added up.
  double distinct_others = 0.0;
};

DrawnLookups draw_lookups(Task& task, double exponent, std::int64_t hot) {
  std::vector<double> popularity;
  for (std::int64_t rank = 1; rank <= kDrawnRows; ++rank) {
    popularity.push_back(std::pow(static_cast<double>(rank), -exponent));
  }
  std::mt19937_64 random(17);
  std::discrete_distribution<std::int64_t> ranks(popularity.begin(), popularity.end());
  constexpr double kSigma = 0.8;
  double& mean = task.tables[0].pooling_factor;
  std::lognormal_distribution<double> lengths(std::log(mean) - kSigma * kSigma / 2, kSigma);
  DrawnLookups drawn;
  for (int device = 0; device < task.devices; ++device) {
    std::set<std::int64_t> rows;
    for (std::int64_t sample = 0; sample < task.batch_size / task.devices; ++sample) {
      const std::int64_t length = std::llround(lengths(random));
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t rank = ranks(random);
        rows.insert(rank);
        (rank < hot ? drawn.hot : drawn.others) += 1.0;
      }
    }
    const auto of_hot = static_cast<double>(std::distance(rows.begin(), rows.lower_bound(hot)));
    drawn.distinct_hot += of_hot;
    drawn.distinct_others += static_cast<double>(rows.size()) - of_hot;
  }
  mean = (drawn.hot + drawn.others) / static_cast<double>(task.batch_size);
  return drawn;
}

// Lookups and distinct rows that are sent, and those that are not, are within 5 % of what is drawn;
// within 10 % where a histogram alone says how popular rows are.
TEST(HotRowsSplit, TrafficIsThatOfDrawnBatches) {
  for (const double exponent : {0.9, 1.1, 1.3}) {
    for (const int devices : {4, 16}) {
      for (const std::int64_t hot : {100, 3000}) {
        SCOPED_TRACE(::testing::Message()
                     << exponent << ", " << devices << " devices, " << hot << " rows");
        Task task = task_of_sequences(exponent, devices);
        const DrawnLookups drawn = draw_lookups(task, exponent, hot);
        const auto samples = static_cast<double>(task.batch_size);
        const Plan plan = on_first_device(task, hot);
        for (const bool stated : {true, false}) {
          if (!stated) task.tables[0].popularity.clear();
          const HotRowsSplit split(task, plan);
          ASSERT_EQ(split.task().tables.size(), 2U);
          const Table& others = split.task().tables[0];
          const Table& of_hot = split.task().tables[1];
          const double tolerance = stated ? 0.05 : 0.1;
          EXPECT_NEAR(others.pooling_factor * samples / drawn.others, 1.0, tolerance);
          EXPECT_NEAR(of_hot.pooling_factor * samples / drawn.hot, 1.0, tolerance);
          Task once = split.task();
          once.exchange.deduplicate_ids = true;
          const DeduplicatedTask left(once);
          EXPECT_NEAR(left.task().tables[0].pooling_factor * samples / drawn.distinct_others, 1.0,
                      tolerance);
          EXPECT_NEAR(left.task().tables[1].pooling_factor * samples / drawn.distinct_hot, 1.0,
                      tolerance);
          // Each device sends the gradient of each hot row.
          EXPECT_EQ(replica_traffic(split.task(), split.plan()).dense_bytes,
                    static_cast<double>(hot) * 16 * 4);
        }
      }
    }
  }
}

// Where no curve says more, a batch touches as many rows in both parts as in the whole table.
TEST(HotRowsSplit, PartsAddUpToTheTable) {
  for (const double exponent : {0.0, 0.6, 1.05, 1.5}) {
    for (const std::int64_t hot : {1, 50, 20'000, 95'999}) {
      SCOPED_TRACE(::testing::Message() << exponent << ", " << hot << " rows");
      Task task = task_of_sequences(exponent, 4);
      task.tables[0].popularity.clear();
      const Plan plan = on_first_device(task, hot);
      const HotRowsSplit split(task, plan);
      const Table& others = split.task().tables[0];
      const Table& of_hot = split.task().tables[1];
      EXPECT_EQ(others.rows + of_hot.rows, kDrawnRows);
      EXPECT_NEAR(others.pooling_factor + of_hot.pooling_factor, 5.0, 1e-12);
      EXPECT_THAT(split.plan().replicas, ElementsAre(1));
      EXPECT_EQ(split.listed(0), 0);
      EXPECT_EQ(split.listed(1), 0);
      const auto distinct = [](const Table& table) {
        return access_profile(table, 65536.0).distinct_rows;
      };
      EXPECT_NEAR((distinct(others) + distinct(of_hot)) / distinct(task.tables[0]), 1.0, 0.03);
      EXPECT_NO_THROW(validate(split.task()));
      EXPECT_NO_THROW(validate(split.plan(), split.task()));
    }
  }
}

TEST(HotRowsSplit, LeavesOtherPlansAsTheyAre) {
  const Task task = task_of_sequences(1.0, 4);
  Plan plan = on_first_device(task, 5);
  plan.hot_rows.clear();
  const HotRowsSplit split(task, plan);
  EXPECT_EQ(&split.task(), &task);
  EXPECT_EQ(&split.plan(), &plan);
}

// A plan of the parts is one of the table again.
TEST(HotRowsSplit, IsUndone) {
  const Task task = task_of_sequences(1.0, 4);
  const Plan plan = on_first_device(task, 5);
  const HotRowsSplit split(task, plan);
  EXPECT_EQ(with_hot_rows(task, plan.hot_rows, split.plan()), plan);
  const Plan both{.slices = {}, .shards = {{}, {}, {}, {}}, .replicas = {0, 1}};
  const Plan replica{.slices = {}, .shards = {{}, {}, {}, {}}, .replicas = {0}};
  EXPECT_EQ(with_hot_rows(task, plan.hot_rows, both), replica);
}

TEST(HotRowsSplit, TablesThatAreNotLookedUpHaveHotRowsToo) {
  Task task = task_of_sequences(1.0, 4);
  task.tables[0].pooling_factor = 0.0;
  task.tables[0].access_histogram = {};
  for (const bool stated : {true, false}) {
    if (!stated) task.tables[0].popularity.clear();
    const Plan plan = on_first_device(task, 5);
    const HotRowsSplit split(task, plan);
    EXPECT_EQ(split.task().tables[0].pooling_factor + split.task().tables[1].pooling_factor, 0.0);
    EXPECT_NO_THROW(validate(split.task()));
  }
  // Rows that are never looked up are the last ones.
  task.tables[0].pooling_factor = 5.0;
  task.tables[0].popularity = {{10.0, 1.0}};
  const Plan plan = on_first_device(task, 500);
  const HotRowsSplit split(task, plan);
  EXPECT_EQ(split.task().tables[0].pooling_factor, 0.0);
  EXPECT_EQ(split.task().tables[1].pooling_factor, 5.0);
  EXPECT_NO_THROW(validate(split.task()));
}

TEST(HotRows, AreCheckedAgainstTheTask) {
  Task task = task_of_sequences(1.0, 2);
  task.tables.push_back(task.tables[0]);
  Plan plan{.slices = {{0, 0, 16, 0, 95'000}, {1, 0, 16, 0, 90'000}}, .shards = {{0}, {1}}};
  const auto problem = [&](std::vector<HotRows> hot_rows) {
    plan.hot_rows = std::move(hot_rows);
    const std::vector<PlanProblem> problems = check_plan(plan, task);
    return problems.empty() ? "" : problems.front().message();
  };
  EXPECT_EQ(problem({{0, 1000}, {1, 6000}}), "");
  EXPECT_THAT(problem({{0, 1000}, {1, 5000}}), HasSubstr("are in no slice"));
  EXPECT_THAT(problem({{0, 1000}, {1, 7000}}),
              HasSubstr("slice 1 begins at row 0 and has 90000 of table 1, which has 89000"));
  EXPECT_THAT(problem({{1, 6000}, {0, 1000}}), HasSubstr("in ascending order"));
  EXPECT_THAT(problem({{2, 6000}}), HasSubstr("of table 2; the task has tables 0 to 1"));
  EXPECT_THAT(problem({{0, 96'000}}), HasSubstr("give at least 1 and not all of them"));
  EXPECT_THAT(problem({{0, 0}}), HasSubstr("keeps 0 rows of table 0 on every device"));
  task.tables[0].row_shares = {0.5, 0.5};
  EXPECT_THAT(problem({{0, 1000}, {1, 6000}}), HasSubstr("row_shares do not say"));
  task.tables[0].row_shares.clear();
  for (int rule = 0; rule < 4; ++rule) {
    Task with_rule = task;
    TableRules& rules = with_rule.tables[0].rules;
    if (rule == 0) rules.no_split = true;
    if (rule == 1) rules.devices = {0};
    if (rule == 2) rules.kinds = {ShardingKind::kTable};
    if (rule == 3) with_rule.groups = {{.tables = {0, 1}, .keep = Keep::kApart}};
    plan.hot_rows = {{0, 1000}, {1, 6000}};
    const std::vector<PlanProblem> problems = check_plan(plan, with_rule);
    ASSERT_FALSE(problems.empty()) << rule;
    EXPECT_EQ(problems.front().kind, PlanProblem::Kind::kRule);
    EXPECT_THAT(problems.front().message(), HasSubstr("leave the table out of hot_rows"));
  }
  task.exchange.hot_rows = false;
  EXPECT_THAT(problem({{0, 1000}, {1, 6000}}), HasSubstr("does not say hot_rows"));
  task.exchange.hot_rows = true;
  plan.slices.pop_back();
  plan.shards[1].clear();
  plan.replicas = {1};
  EXPECT_THAT(problem({{0, 1000}, {1, 6000}}), HasSubstr("leave the table out of hot_rows"));
  // Every device has room for them, too.
  plan.replicas.clear();
  plan.slices.push_back({1, 0, 16, 0, 90'000});
  plan.shards[1] = {1};
  task.memory_bytes = 95'000 * 16 * 4 + (1000 + 6000) * 16 * 4;
  EXPECT_THAT(problem({{0, 1000}, {1, 6000}}), HasSubstr("bytes, but a device has"));
}

}  // namespace
}  // namespace neuroshard
