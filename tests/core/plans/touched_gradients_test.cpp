#include "core/plans/touched_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/plans/replicas.h"
#include "message_of.h"
#include "neuroshard/zipf_histogram.h"
#include "numbers.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::kGib;
using testing::message_of;

Table touched_table(std::int64_t rows, int dim, double pooling_factor, double exponent) {
  return {.rows = rows,
          .dim = dim,
          .pooling_factor = pooling_factor,
          .access_histogram = zipf_histogram(rows, pooling_factor, exponent),
          .replica_gradients = ReplicaGradients::kTouched};
}

Task task_of(std::vector<Table> tables, int devices, std::int64_t batch = kDefaultBatchSize) {
  return {.tables = std::move(tables),
          .devices = devices,
          .memory_bytes = std::int64_t{1} << 34,
          .batch_size = batch};
}

TEST(TouchedGradients, AreOfTheRowsThatEachDevicesPartTouches) {
  // By the definition of the law that the histogram is derived from.
  for (const double exponent : {0.0, 0.8, 1.05}) {
    for (const int devices : {1, 8, 64}) {
      SCOPED_TRACE(exponent);
      SCOPED_TRACE(devices);
      const Table table = touched_table(20'000, 16, 0.5, exponent);
      double all = 0.0;
      for (int r = 1; r <= 20'000; ++r) all += std::pow(r, -exponent);
      double touched = 0.0;
      for (int r = 1; r <= 20'000; ++r) {
        const double lookups = 0.5 * kDefaultBatchSize / devices * std::pow(r, -exponent) / all;
        touched += 1.0 - std::exp(-lookups);
      }
      const TouchedGradients gradients(task_of({table}, devices));
      EXPECT_NEAR(gradients.gathered_rows(table) / (devices * touched), 1.0, 0.05);
      EXPECT_EQ(gradients.gathered_bytes(table), gradients.gathered_rows(table) * (8 + 16 * 4));
    }
  }
}

// Every row that is looked up is looked up once: nothing is known but counts.
Table table_without_repeats(std::int64_t rows, int dim, double pooling_factor) {
  Table table = touched_table(rows, dim, pooling_factor, 0.0);
  table.access_histogram = {1.0};
  return table;
}

TEST(TouchedGradients, TakeTheTrafficOfASortAndAnUpdate) {
  const Table table = table_without_repeats(1'000'000, 4, 2.0);
  const Table dense = [&] {
    Table other = table;
    other.replica_gradients = ReplicaGradients::kDense;
    return other;
  }();
  const Task task = task_of({table, dense}, 4, 1024);
  const TouchedGradients gradients(task);
  const std::array tables = {&task.tables[0], &task.tables[1]};
  const ReplicaUpdate update = gradients.update(tables);
  const double rows = 2.0 * 1024.0;
  EXPECT_DOUBLE_EQ(gradients.gathered_rows(table), rows);
  EXPECT_DOUBLE_EQ(update.gathered_bytes, rows * (8 + 4 * 4));
  // Some 20 bits of rows: three passes, the last of half as many bits. Rows of 16 bytes are sectors
  // of 32.
  const double sort = (8 + 12) + 8 + std::log2(1e6) / 8 * 2 * 12 + 8;
  EXPECT_DOUBLE_EQ(update.copied_bytes, rows * (6 * sort + 0.9 / 0.63 * (12 + 32 + 2 * 32)));
  EXPECT_EQ(update.launches, 5 + 3);
  EXPECT_EQ(gradients.update(std::span(tables).last(1)).gathered_bytes, 0.0);
  EXPECT_EQ(gradients.update(std::span(tables).last(1)).launches, 0.0);
}

TEST(TouchedGradients, UpdateRowsAsWideAsTheirWeights) {
  Task task = task_of({table_without_repeats(1'000'000, 64, 2.0)}, 4, 1024);
  const std::array tables = {&task.tables[0]};
  const ReplicaUpdate fp32 = TouchedGradients(task).update(tables);
  task.tables[0].memory.weight_type = WeightType::kFp16;
  const ReplicaUpdate fp16 = TouchedGradients(task).update(tables);
  EXPECT_EQ(fp16.gathered_bytes, fp32.gathered_bytes);
  EXPECT_NEAR(fp32.copied_bytes - fp16.copied_bytes, 0.9 / 0.63 * 2048.0 * 2 * 2 * 64, 1e-6);
}

TEST(TouchedGradients, UpdateWhatTheOptimizerKeeps) {
  Task task = task_of({table_without_repeats(1'000'000, 64, 2.0)}, 4, 1024);
  const std::array tables = {&task.tables[0]};
  const double touched = TouchedGradients(task).update(tables).copied_bytes;
  task.tables[0].memory.optimizer = Optimizer::kAdam;
  EXPECT_NEAR(TouchedGradients(task).update(tables).copied_bytes - touched,
              0.9 / 0.63 * 2048.0 * 2 * (2 * 256), 1e-6);
  // Dense gradients update the state of all rows.
  task.tables[0].replica_gradients = ReplicaGradients::kDense;
  const ReplicaUpdate update = TouchedGradients(task).update(tables);
  EXPECT_EQ(update.copied_bytes, 1e6 * 2 * (2 * 256));
  EXPECT_EQ(update.gathered_bytes, 0.0);
  const double gib = update.copied_bytes / kGib;
  EXPECT_DOUBLE_EQ(replica_update_ms({.lines = {{1, {0.008, 2.0}}, {8, {0.05, 20.0}}}}, 8, update),
                   2.0 * gib / 4.0);
}

TEST(TouchedGradients, OfATableNeverLookedUpAreNothing) {
  const Table never = touched_table(100, 8, 0.0, 1.0);
  const Task task = task_of({never}, 8);
  const std::array tables = {&task.tables[0]};
  const ReplicaUpdate update = TouchedGradients(task).update(tables);
  EXPECT_EQ(update.gathered_bytes, 0.0);
  EXPECT_EQ(replica_update_ms({.lines = {{1, {1.0, 1.0}}}}, 8, update), 0.0);
}

TEST(TouchedGradients, CostAnAllReduceOfHalfTheBytesAndTheUpdate) {
  const ReplicaUpdate update{.gathered_bytes = kGib, .copied_bytes = 3.0 * kGib, .launches = 8.0};
  // Two launches and four transfers of dense gradients; and a network.
  const CollectiveModel model{.lines = {{1, {0.008, 2.0}}, {8, {0.05, 20.0}}}};
  const double moved_ms = (0.05 + 20.0 / 2.0) - (0.008 + 2.0 / 2.0);
  EXPECT_DOUBLE_EQ(replica_update_ms(model, 8, update), moved_ms + 4 * 0.008 + 2.0 * 3.0 / 4.0);
  EXPECT_DOUBLE_EQ(replica_update_ms(model, 1, update), 4 * 0.008 + 2.0 * 3.0 / 4.0);
  // Nothing tells the network from the optimizer's pass.
  EXPECT_DOUBLE_EQ(replica_update_ms({.lines = {{8, {0.05, 20.0}}}}, 8, update), 0.05 + 10.0);
}

TEST(TouchedGradients, TakeMemoryInThePlaceOfADenseOne) {
  const Table table = table_without_repeats(1'000'000, 4, 2.0);
  Task task = task_of({table}, 4, 1024);
  EXPECT_EQ(replica_memory(task, 0).weight_bytes, 16'000'000);
  EXPECT_EQ(replica_memory(task, 0).buffer_bytes, 2 * 1024 * (8 + 4 * 4));
  task.tables[0].replica_gradients = ReplicaGradients::kDense;
  EXPECT_EQ(replica_memory(task, 0).buffer_bytes, 16'000'000);
  // However much it is, sums stay within 64 bits.
  task.tables[0] = table_without_repeats(kMaxRows, 32768, 1e9);
  task.tables.assign(8, task.tables[0]);
  task.devices = 1024;
  task.batch_size = kMaxBatchSize;
  Plan plan;
  for (int t = 0; t < 8; ++t) plan.replicas.push_back(t);
  EXPECT_GT(replicas_memory(task, plan).buffer_bytes, kMaxTaskBytes);
}

TEST(ReplicaGradients, HaveNames) {
  for (const ReplicaGradients gradients : all_replica_gradients()) {
    EXPECT_EQ(replica_gradients_from_name(name_of(gradients)), gradients);
  }
  EXPECT_EQ(all_replica_gradients().size(), 2U);
  EXPECT_THAT(
      message_of([] { (void)replica_gradients_from_name("sparse"); }),
      HasSubstr("there is no kind of replica gradients 'sparse'; use one of dense, touched"));
}

}  // namespace
}  // namespace neuroshard
