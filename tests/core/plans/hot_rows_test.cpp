#include "core/plans/hot_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "core/plans/deduplicated_task.h"
#include "core/plans/id_exchange.h"
#include "core/plans/in_node_traffic.h"
#include "core/plans/replicas.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kDrawnRows = 96'000;

Task task_of_sequences(double exponent, int devices) {
  Table table{.rows = kDrawnRows, .dim = 16, .pooling_factor = 5.0};
  table.access_histogram = zipf_histogram(table.rows, table.pooling_factor, exponent);
  table.popularity = zipf_popularity(table.rows, exponent);
  table.pooling = Pooling::kNone;
  Task task{.tables = {table}, .devices = devices, .memory_bytes = std::int64_t{1} << 40};
  task.exchange.hot_rows = true;
  return task;
}

Plan on_first_device(const Task& task, std::int64_t hot) {
  Plan plan{.slices = {{0, 0, 16, 0, task.tables[0].rows - hot}}, .shards = {{0}}};
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  plan.hot_rows = {{0, hot}};
  return plan;
}

/// A batch that is drawn by Zipf's law, with lognormal numbers of lookups: of hot rows, of the next
/// ones, and of the others.
struct DrawnLookups {
  double hot = 0.0;
  double next = 0.0;
  double others = 0.0;
  double distinct_hot = 0.0;  ///< Distinct rows of each device's part, added up.
  double distinct_next = 0.0;
  double distinct_next_of_nodes = 0.0;  ///< Rows of each node's part.
  double distinct_others = 0.0;
};

DrawnLookups draw_lookups(Task& task, double exponent, std::int64_t hot, std::int64_t next = 0) {
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
  std::set<std::int64_t> of_node;
  for (int device = 0; device < task.devices; ++device) {
    std::set<std::int64_t> rows;
    if (device % task.devices_per_node == 0) of_node.clear();
    for (std::int64_t sample = 0; sample < task.batch_size / task.devices; ++sample) {
      const std::int64_t length = std::llround(lengths(random));
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t rank = ranks(random);
        rows.insert(rank);
        (rank < hot ? drawn.hot : rank < hot + next ? drawn.next : drawn.others) += 1.0;
      }
    }
    const auto hot_end = rows.lower_bound(hot);
    const auto next_end = rows.lower_bound(hot + next);
    drawn.distinct_hot += static_cast<double>(std::distance(rows.begin(), hot_end));
    drawn.distinct_next += static_cast<double>(std::distance(hot_end, next_end));
    drawn.distinct_others += static_cast<double>(std::distance(next_end, rows.end()));
    of_node.insert(hot_end, next_end);
    if ((device + 1) % task.devices_per_node == 0) {
      drawn.distinct_next_of_nodes += static_cast<double>(of_node.size());
    }
  }
  mean = (drawn.hot + drawn.next + drawn.others) / static_cast<double>(task.batch_size);
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

Task in_nodes_of(Task task, int devices_per_node) {
  task.devices_per_node = devices_per_node;
  task.exchange.hot_rows_by_node = true;
  return task;
}

// Rows that each node holds once are counted as well: a device sends the others of its node what
// they look up in its part of the rows, and other nodes its part of the gradients.
TEST(HotRowsSplit, TrafficInNodesIsThatOfDrawnBatches) {
  for (const double exponent : {0.9, 1.1, 1.3}) {
    for (const int per_node : {2, 8}) {
      for (const std::int64_t hot : {0, 100}) {
        SCOPED_TRACE(::testing::Message()
                     << exponent << ", nodes of " << per_node << ", " << hot << " rows");
        constexpr std::int64_t kNext = 3000;
        Task task = in_nodes_of(task_of_sequences(exponent, 16), per_node);
        const DrawnLookups drawn = draw_lookups(task, exponent, hot, kNext);
        const auto samples = static_cast<double>(task.batch_size);
        Plan plan = on_first_device(task, hot + kNext);
        plan.hot_rows = {{0, hot, kNext}};
        for (const bool stated : {true, false}) {
          if (!stated) task.tables[0].popularity.clear();
          const double tolerance = stated ? 0.05 : 0.1;
          const HotRowsSplit split(task, plan);
          const int last = hot > 0 ? 2 : 1;
          ASSERT_THAT(split.plan().replicas, SizeIs(last));
          EXPECT_EQ(split.listed(last), 0);
          const auto of_last = [&](const Task& of) -> const Table& {
            return of.tables[static_cast<std::size_t>(last)];
          };
          EXPECT_EQ(of_last(split.task()).rows, kNext);
          // A device sends each of its node outputs of 16 columns a sample, and ids.
          const auto expect_traffic = [&](const Task& of, double rows) {
            EXPECT_NEAR(of_last(of).pooling_factor * samples / rows, 1.0, tolerance);
            const InNodeTraffic traffic(of, split.plan(), {});
            const double sent = rows / samples / per_node;
            EXPECT_NEAR(traffic.columns(0.0), 16.0 * sent, tolerance * 16.0 * sent + 0.5);
            EXPECT_NEAR(lookups_of(traffic.ids(0)) / sent, 1.0, tolerance);
            EXPECT_NEAR(traffic.columns(100.0), 100.0 + 16.0 * sent, tolerance * 16.0 * sent + 0.5);
          };
          expect_traffic(split.task(), drawn.next);
          Task once = split.task();
          once.exchange.deduplicate_ids = true;
          const DeduplicatedTask left(once);
          expect_traffic(left.task(), drawn.distinct_next);
          // A device of a node serves it, and finds as many distinct rows in its part of them.
          for (const Task* of : {&split.task(), &left.task()}) {
            const Table served = in_replica_operator(of_last(*of));
            EXPECT_EQ(served.rows, kNext / per_node);
            const double of_device = samples / 16.0;
            const AccessProfile profile =
                access_profile(served, HistogramScale(of_device), of_device);
            EXPECT_NEAR(profile.lookups / (of_device * of_last(*of).pooling_factor), 1.0, 1e-9);
            const double distinct = drawn.distinct_next_of_nodes / 16.0;
            // By the histogram, whose last bin is open: the hottest rows count as several.
            EXPECT_NEAR(profile.distinct_rows / distinct, 1.0, hot > 0 ? 0.15 : 0.3);
          }
          // Dense gradients of all rows between nodes, in the part of the time that this takes.
          const double all_bytes = static_cast<double>(hot) * 64.0;
          EXPECT_EQ(replica_traffic(split.task(), split.plan(), 0.75).dense_bytes,
                    all_bytes + 0.75 * kNext * 64.0);
          EXPECT_EQ(replica_traffic(split.task(), split.plan(), 0.01).dense_bytes,
                    all_bytes + kNext * 64.0 / per_node);
          // Touched ones: each device gathers those of its part of the rows from each node.
          Task touched = split.task();
          for (Table& table : touched.tables) table.replica_gradients = ReplicaGradients::kTouched;
          const TouchedGradients gradients(touched, 0.5);
          const double gathered = gradients.gathered_rows(of_last(touched)) * per_node;
          EXPECT_NEAR(gathered / drawn.distinct_next_of_nodes, 1.0, 0.1);
          // With ids, outputs and gradients of lookups, which are sent in nodes.
          const auto bytes = [](double lookups, double rows) {
            return lookups * (8.0 + 2.0 * 64.0) + rows * (8.0 + 64.0);
          };
          EXPECT_NEAR(bytes(of_last(touched).pooling_factor * samples, gathered) /
                          bytes(drawn.next, drawn.distinct_next_of_nodes),
                      1.0, tolerance);
          const Table* const of[] = {&of_last(touched)};
          EXPECT_NEAR(gradients.update(of).gathered_bytes /
                          (0.5 * per_node * gradients.gathered_bytes(of_last(touched))),
                      1.0, 1e-9);
        }
      }
    }
  }
}

// Links within nodes take so much of a collective, by the rates of docs/analytic_costs.md.
TEST(NodeShares, AreThoseOfTheLinks) {
  const NodeNetwork network{.devices_per_node = 8,
                            .links = {.in_node_gb_s = 300.0, .between_nodes_gb_s = 25.0}};
  Task task = in_nodes_of(task_of_sequences(1.0, 16), 8);
  const double in_node = 7.0 / (300.0 * (0.75 - 0.32 / 8.0));
  const double ring = 7.0 / 8.0 / (300.0 * 0.79);
  for (const int devices : {16, 64}) {
    task.devices = devices;
    const double beyond = (devices - 8.0) / (25.0 * 0.85);
    const double nodes = devices / 8.0;
    const double between = (nodes - 1.0) / nodes / 8.0 / (25.0 * 0.85);
    const NodeShares shares = node_shares(network, task);
    EXPECT_NEAR(shares.exchange_in_node, in_node / beyond, 1e-12);
    EXPECT_NEAR(shares.all_reduce_between, between / std::max(between, ring), 1e-12);
  }
  // Nothing is known: all is sent everywhere, and to all.
  for (const int devices : {8, 12}) {
    task.devices = devices;
    EXPECT_EQ(node_shares(network, task).exchange_in_node, 1.0);
  }
  task.devices = 16;
  EXPECT_EQ(node_shares(std::nullopt, task).all_reduce_between, 1.0);
  task.devices_per_node = 4;
  EXPECT_EQ(node_shares(network, task).exchange_in_node, 1.0);
  task.devices_per_node = 8;
  // Through a host that all devices of a node share.
  NodeNetwork shared = network;
  shared.links.host_gb_s = 100.0;
  EXPECT_NEAR(node_shares(shared, task).exchange_in_node,
              1.0 / std::max(1.0, 8.0 / (25.0 * 0.85) / (8.0 * 7.0 / 100.0)), 1e-12);
}

TEST(HotRowsSplit, MemoryOfRowsOfNodesIsADevicesPart) {
  Task task = in_nodes_of(task_of_sequences(1.0, 16), 8);
  task.tables[0].memory.batch_size = 65536;
  Plan plan = on_first_device(task, 801);
  plan.hot_rows = {{0, 0, 801}};
  const HotRowsSplit split(task, plan);
  const SliceMemory memory = replicas_memory(task, plan);
  EXPECT_EQ(memory.weight_bytes, 101 * 16 * 4);
  const double lookups = split.task().tables[1].pooling_factor / 8.0 * 65536.0 / 2.0;
  // Dense gradients, ids, and outputs.
  EXPECT_NEAR(static_cast<double>(memory.buffer_bytes), 101 * 16 * 4 + lookups * (8.0 + 16.0 * 4.0),
              80.0);
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
  EXPECT_THAT(problem({{0, 1000}, {1, 5000, 1000}}), HasSubstr("does not say hot_rows_by_node"));
  task.exchange.hot_rows_by_node = true;
  EXPECT_THAT(
      problem({{0, 1000}, {1, 5000, 1000}}),
      HasSubstr("keeps 5000 rows of table 1 on every device and 1000 once on each node, but "
                "2 devices do not fill nodes of 8; keep them on every device"));
  task.devices_per_node = 1;
  EXPECT_THAT(problem({{0, 1000}, {1, 5000, 1000}}), HasSubstr("do not fill nodes of 1"));
  EXPECT_THAT(problem({{0, 1000}, {1, 95'000, 1000}}), HasSubstr("and not all of them"));
  EXPECT_THAT(problem({{0, 1000}, {1, 6001, -1}}), HasSubstr("give at least 1"));
  Task of_nodes = task;
  of_nodes.devices = 4;
  of_nodes.devices_per_node = 2;
  Plan on_nodes = plan;
  on_nodes.shards.resize(4);
  on_nodes.hot_rows = {{0, 0, 1000}, {1, 5000, 1000}};
  EXPECT_TRUE(check_plan(on_nodes, of_nodes).empty());
  task.devices_per_node = 8;
  task.exchange.hot_rows_by_node = false;
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
  EXPECT_THAT(problem({{0, 1000}, {1, 6000}}), HasSubstr("more than it has room for"));
  task.tables[0].replica_devices = 0;
  EXPECT_THROW(validate(task), Error);
}

}  // namespace
}  // namespace neuroshard
