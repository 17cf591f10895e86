// Rows that wait in host memory, beside the fewest that could with all rows of a device.
#include "core/plans/host_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

Task hosted_task(HostPolicy policy) {
  Task task{.tables = {}, .devices = 1};
  for (const auto& [rows, exponent] :
       {std::pair{1'000'000, 1.05}, std::pair{4'000'000, 1.2}, std::pair{30'000, 0.6}}) {
    Table& table = task.tables.emplace_back(
        Table{.name = {}, .rows = rows, .dim = 64, .pooling_factor = 10.0});
    table.popularity = zipf_popularity(rows, exponent);
  }
  task.memory_bytes = total_bytes(task) / 4;
  task.host = {.bytes = 2 * total_bytes(task), .link_gb_s = 25.0, .policy = policy};
  return task;
}

Plan all_on_one_device(const Task& task) {
  Plan plan{.slices = whole_tables(task), .shards = {{}}};
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    plan.shards[0].push_back(static_cast<int>(i));
  }
  return plan;
}

TEST(HostRows, FillHbmAndNoMore) {
  for (const HostPolicy policy : all_host_policies()) {
    Task task = hosted_task(policy);
    const Plan plan = all_on_one_device(task);
    double before_ms = 1e9;
    for (int percent = 5; percent <= 100; percent += 5) {
      task.memory_bytes = total_bytes(task) / 100 * percent;
      const HostedPlan hosted = hosted_plan(task, plan);
      const HostedPlan::OfDevice& device = hosted.devices.front();
      EXPECT_EQ(device.missing_bytes, 0);
      EXPECT_LE(device.fetch_ms, before_ms) << percent;
      before_ms = device.fetch_ms;
      std::int64_t in_hbm = 0;
      for (const SliceMemory& memory : hosted.memory) in_hbm += memory.total_bytes();
      EXPECT_LE(in_hbm, task.memory_bytes);
      EXPECT_GT(static_cast<double>(in_hbm), 0.99 * static_cast<double>(task.memory_bytes));
    }
    task.memory_bytes = total_bytes(task);
    const HostedPlan hosted = hosted_plan(task, plan);
    EXPECT_EQ(hosted.devices.front().fetch_ms, 0.0);
    EXPECT_EQ(hosted.devices.front().host_bytes, 0);
    EXPECT_EQ(hosted.hbm_shares, std::vector<double>(3, 1.0));
  }
}

/// Rows of a task's tables that a batch looks up alike.
struct AlikeRows {
  double count, lookups, bytes;
};
std::vector<AlikeRows> alike_rows(const Task& task) {
  std::vector<AlikeRows> rows;
  for (const Table& table : task.tables) {
    PopularRows last;
    for (const PopularRows& point : table.popularity) {
      const double count = point.rows - last.rows;
      const double lookups = static_cast<double>(task.batch_size) * table.pooling_factor *
                             (point.share - last.share) / count;
      rows.push_back({count, lookups, 4.0 * table.dim});
      last = point;
    }
  }
  return rows;
}

/// Distinct rows of a batch that are not in HBM, if the rows that are looked up most often for the
/// bytes that they take are.
double least_fetched_bytes(const Task& task) {
  std::vector<AlikeRows> rows = alike_rows(task);
  double left = static_cast<double>(task.memory_bytes);
  std::ranges::sort(rows, [](const AlikeRows& a, const AlikeRows& b) {
    return a.lookups / a.bytes > b.lookups / b.bytes;
  });
  double fetched = 0.0;
  for (const auto& [count, lookups, bytes] : rows) {
    const double in_hbm = std::min(count, left / bytes);
    left -= in_hbm * bytes;
    fetched -= (count - in_hbm) * bytes * std::expm1(-lookups);
  }
  return fetched;
}

TEST(HostRows, FetchNearlyAsLittleAsCanBe) {
  for (int percent = 10; percent <= 80; percent += 10) {
    Task task = hosted_task(HostPolicy::kStatic);
    task.memory_bytes = total_bytes(task) / 100 * percent;
    const Plan plan = all_on_one_device(task);
    const double ms = hosted_plan(task, plan).devices.front().fetch_ms;
    // Rows of 256 bytes take 21 ns each.
    const double least_ms = 2.0 * least_fetched_bytes(task) / 256.0 * 21e-6;
    EXPECT_GT(ms, 0.99 * least_ms) << percent;
    // Thresholds lie on a grid.
    EXPECT_LT(ms, 1.15 * least_ms) << percent;
    // Which row is looked up next is known only as far as the last ones say it.
    task.host.policy = HostPolicy::kLru;
    EXPECT_GT(hosted_plan(task, plan).devices.front().fetch_ms, ms) << percent;
  }
}

TEST(HostRows, TablesThatAreKeptInHbmAreWholeThere) {
  Task task = hosted_task(HostPolicy::kLru);
  task.tables[0].rules.keep_in_hbm = true;
  const Plan plan = all_on_one_device(task);
  const HostedPlan hosted = hosted_plan(task, plan);
  EXPECT_EQ(hosted.hbm_shares[0], 1.0);
  EXPECT_EQ(hosted.memory[0], slice_memory(task.tables[0], 64));
  EXPECT_LT(hosted.hbm_shares[1], 1.0);
  task.tables[1].rules.keep_in_hbm = true;
  EXPECT_GT(hosted_plan(task, plan).devices.front().missing_bytes, 0);
}

/// Bytes that a batch misses, if a cache has rows of both tables for as long as each other.
double missed_bytes_of_one_cache(const Task& task) {
  const auto rows_after = [&](double batches, bool missed) {
    double sum = 0.0;
    for (const auto& [count, lookups, bytes] : alike_rows(task)) {
      const double gone = std::exp(-lookups * batches);
      sum += count * (missed ? gone * -std::expm1(-lookups) : 1.0 - gone);
    }
    return sum;
  };
  double low = 0.0;
  double high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2.0;
    const double taken = rows_after(middle, false) * (256.0 + 16.0) + 4.0 * 5e6;
    const bool fits = taken < static_cast<double>(task.memory_bytes);
    (fits ? low : high) = middle;
  }
  return rows_after(low, true) * 256.0;
}

TEST(HostRows, TablesWhoseRowsAreAlikeAreWholeWhereThatFetchesLess) {
  Task task = hosted_task(HostPolicy::kLru);
  task.tables.resize(2);
  task.tables[0].popularity = {{1e6, 1.0}};
  task.tables[0].pooling_factor = 0.5;
  task.memory_bytes = total_bytes(task) * 2 / 5;
  const Plan plan = all_on_one_device(task);
  const HostedPlan hosted = hosted_plan(task, plan);
  EXPECT_EQ(hosted.hbm_shares[0], 1.0);
  EXPECT_LT(hosted.hbm_shares[1], 1.0);
  // Rows of 256 bytes take 21 ns each.
  const double ms = 2.0 * missed_bytes_of_one_cache(task) / 256.0 * 21e-6;
  EXPECT_LT(hosted.devices.front().fetch_ms, 0.9 * ms);
  // Each row is looked up once in 150 batches: other rows make more of the room.
  task.tables[0].pooling_factor = 0.1;
  EXPECT_LT(hosted_plan(task, plan).hbm_shares[0], 1.0);
}

TEST(HostRows, SharesThatAreGivenCostWhatFoundOnesDo) {
  for (const HostPolicy policy : all_host_policies()) {
    Task task = hosted_task(policy);
    const Plan plan = all_on_one_device(task);
    const HostedPlan found = hosted_plan(task, plan);
    for (std::size_t t = 0; t < 3; ++t) task.tables[t].rules.hbm_share = found.hbm_shares[t];
    task.memory_bytes *= 2;  // More room changes nothing.
    const HostedPlan given = hosted_plan(task, plan);
    for (std::size_t t = 0; t < 3; ++t) EXPECT_NEAR(given.hbm_shares[t], found.hbm_shares[t], 1e-6);
    const double ms = found.devices.front().fetch_ms;
    // Between two points of a curve, what is fetched is on a straight line.
    EXPECT_NEAR(given.devices.front().fetch_ms, ms, 0.05 * ms);
    EXPECT_EQ(given.devices.front().missing_bytes, 0);
    task.memory_bytes = total_bytes(task) / 5;
    EXPECT_GT(hosted_plan(task, plan).devices.front().missing_bytes, 0);
  }
}

TEST(HostRows, MissWhatNeitherMemoryHasRoomFor) {
  Task task = hosted_task(HostPolicy::kStatic);
  const Plan plan = all_on_one_device(task);
  task.host.bytes = total_bytes(task) / 2;
  EXPECT_GT(hosted_plan(task, plan).devices.front().missing_bytes, 0);
  task.host.bytes = total_bytes(task);
  EXPECT_EQ(hosted_plan(task, plan).devices.front().missing_bytes, 0);
}

/// Bytes that a batch reads from an SSD, and writes, if HBM and the host have room for so many: by
/// how lately rows were looked up, or how often they are.
double read_and_written_bytes(const Task& task, double room) {
  const bool lru = task.host.policy == HostPolicy::kLru;
  const std::vector<AlikeRows> rows = alike_rows(task);
  const auto sums = [&](double batches) {
    double there = 0.0;
    double missed = 0.0;
    for (const auto& [count, lookups, bytes] : rows) {
      const double in_memory = lru ? -std::expm1(-lookups * batches) : lookups * batches >= 1.0;
      there += count * in_memory * bytes;
      missed -= count * (1.0 - in_memory) * std::expm1(-lookups) * (4096.0 + bytes);
    }
    return std::pair(there, missed);
  };
  double low = 0.0;
  double high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2.0;
    (sums(middle).first < room ? low : high) = middle;
  }
  const auto [fewer, most] = sums(low);
  const auto [more, least] = sums(high);
  const double part = more > fewer ? (room - fewer) / (more - fewer) : 0.0;
  return std::lerp(most, least, part);  // A part of rows that are alike.
}

TEST(HostRows, WaitOnAnSsdIfNoMemoryHasRoom) {
  for (const HostPolicy policy : all_host_policies()) {
    for (const int percent : {10, 20, 40}) {
      SCOPED_TRACE(percent);
      Task task = hosted_task(policy);
      task.memory_bytes = total_bytes(task) / 8;
      task.host.bytes = total_bytes(task) / 100 * percent;
      const Plan plan = all_on_one_device(task);
      EXPECT_GT(hosted_plan(task, plan).devices.front().missing_bytes, 0);
      const double without_ms = hosted_plan(task, plan).devices.front().fetch_ms;
      task.host.ssd_bytes = total_bytes(task);
      task.host.ssd_gb_s = 2.0;
      const HostedPlan hosted = hosted_plan(task, plan);
      const HostedPlan::OfDevice& device = hosted.devices.front();
      EXPECT_EQ(device.missing_bytes, 0);
      // The link carries what it did.
      EXPECT_NEAR(device.fetch_ms, without_ms + device.ssd_ms, 1e-9 * device.fetch_ms);
      EXPECT_NEAR(static_cast<double>(device.host_bytes), static_cast<double>(task.host.bytes), 1);
      const auto in_memory = static_cast<double>(total_bytes(task) - device.ssd_bytes);
      const double ms = read_and_written_bytes(task, in_memory) / 2e6;
      // Beside a cache, tables may be whole in memory where that reads less.
      EXPECT_GT(device.ssd_ms, (policy == HostPolicy::kLru ? 0.75 : 0.98) * ms);
      // Curves are straight between two points.
      EXPECT_LT(device.ssd_ms, 1.15 * ms);
      task.host.ssd_bytes = device.ssd_bytes / 2;
      EXPECT_GT(hosted_plan(task, plan).devices.front().missing_bytes, 0);
    }
  }
}

TEST(HostRows, OfTablesWithAShareWaitInTheHostAlone) {
  Task task = hosted_task(HostPolicy::kLru);
  task.tables[0].rules.hbm_share = 0.25;
  task.host.bytes = total_bytes(task) / 2;
  task.host.ssd_bytes = 2 * total_bytes(task);
  task.host.ssd_gb_s = 2.0;
  const Plan plan = all_on_one_device(task);
  const HostedPlan hosted = hosted_plan(task, plan);
  EXPECT_EQ(hosted.devices.front().missing_bytes, 0);
  EXPECT_EQ(hosted.ssd_shares[0], 0.0);
  EXPECT_GT(hosted.ssd_shares[1], 0.0);
  task.host.bytes = task.tables[0].size_bytes() / 2;
  EXPECT_GT(hosted_plan(task, plan).devices.front().missing_bytes, 0);
}

TEST(HostRows, SlicesOfATableAddUpToIt) {
  const Task task = hosted_task(HostPolicy::kLru);
  const Table& table = task.tables[1];
  HostCurves curves(task);
  const auto curve = [&](std::int64_t rows, int dim) {
    const TableSlice slice{1, 0, dim, 0, rows};
    return curves.of(table, rows, slice_memory(table_of(task, slice), dim), task.host.link_gb_s);
  };
  const HostCurve whole = curve(table.rows, table.dim);
  HostCurve halves = curve(table.rows / 2, table.dim);
  halves.add(halves);
  HostCurve columns = curve(table.rows, 32);
  columns.add(columns);
  for (std::size_t i = 0; i < kHostPoints; ++i) {
    const auto near = [&](std::int64_t part) { return static_cast<double>(part) + 4.0; };
    EXPECT_NEAR(near(halves.hbm[i]), near(whole.hbm[i]), 4.0);
    EXPECT_NEAR(near(halves.fetched[i]), near(whole.fetched[i]), 4.0);
    // Halves of rows take as long as rows.
    if (columns.host[i] == 0) continue;
    EXPECT_EQ(columns.fetched[i], 2 * whole.fetched[i]);
  }
  EXPECT_EQ(columns.hbm.back(), whole.hbm.back());
}

}  // namespace
}  // namespace neuroshard
