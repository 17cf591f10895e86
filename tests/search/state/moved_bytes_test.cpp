// Bytes that are moved for tables to be in slices that have no columns of their own.
#include "search/state/moved_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "repetitions.h"
#include "search/canonical_task.h"
#include "search/random_layouts.h"
#include "search/state/plan_state.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;

constexpr int kDevices = 4;

/// A table of 100 rows that runs in slices of these widths, each on the device of its place.
RunningPlan job_of(const std::vector<std::pair<int, int>>& widths_on_devices) {
  RunningPlan running;
  running.task.devices = kDevices;
  running.task.memory_bytes = std::int64_t{1} << 30;
  Table table{.name = "a", .rows = 100, .dim = 0, .pooling_factor = 1.0};
  table.access_histogram[0] = 1.0;
  running.plan.shards.resize(kDevices);
  for (const auto& [width, device] : widths_on_devices) {
    running.plan.shards[static_cast<std::size_t>(device)].push_back(
        static_cast<int>(running.plan.slices.size()));
    running.plan.slices.push_back({0, table.dim, width, 0, table.rows});
    table.dim += width;
  }
  running.task.tables = {table};
  return running;
}

/// A job and what counts for it.
struct Counted {
  explicit Counted(RunningPlan job)
      : running(std::move(job)),
        backend(testing::cpu_backend_of(builtin_weights())),
        canonical(canonical_task(running.task)),
        catalog(backend, canonical),
        ways(catalog, canonical, {}),
        holders(running.task, running),
        moved({.holders = holders}, canonical, ways) {}

  RunningPlan running;
  CpuBackend backend;
  BundledTask canonical;
  ShardCatalog catalog;
  TableWays ways;
  RunningHolders holders;
  MovedBytes moved;
};

std::vector<StateSlice> slices_of(const std::vector<std::pair<int, int>>& widths_on_devices) {
  std::vector<StateSlice> slices;
  for (const auto& [width, device] : widths_on_devices) {
    slices.push_back({0, width, Way::kDevice, device});
  }
  return slices;
}

constexpr std::int64_t kColumnBytes = 100 * 4;

TEST(MovedBytes, SlicesHaveTheColumnsThatTheirDevicesHold) {
  Counted job(job_of({{32, 0}, {32, 1}, {16, 2}, {16, 0}}));
  // As they run, in whichever order.
  EXPECT_THAT(job.moved.first_columns(slices_of({{16, 0}, {32, 1}, {32, 0}, {16, 2}})),
              ElementsAre(80, 32, 0, 64));
  EXPECT_EQ(job.moved.of_slices(slices_of({{16, 0}, {32, 1}, {32, 0}, {16, 2}})), 0);
  // The slice of device 1 goes to device 3, or is cut there.
  EXPECT_EQ(job.moved.of_slices(slices_of({{32, 0}, {32, 3}, {16, 2}, {16, 0}})),
            32 * kColumnBytes);
  EXPECT_THAT(job.moved.first_columns(slices_of({{32, 0}, {8, 3}, {24, 1}, {16, 2}, {16, 0}})),
              ElementsAre(0, 56, 32, 64, 80));
  // Columns are handed on to a neighbour.
  EXPECT_EQ(job.moved.of_slices(slices_of({{28, 0}, {36, 1}, {16, 2}, {16, 0}})), 4 * kColumnBytes);
  // Device 2 gets all.
  EXPECT_EQ(job.moved.of_slices(slices_of({{96, 2}})), 80 * kColumnBytes);
  EXPECT_EQ(job.moved.of_everywhere(0, Way::kReplica),
            (3 * 96 + 48 - 32 - 16 + 48 - 48) * kColumnBytes);
}

/// The least that any order of the slices moves.
std::int64_t least_bytes(const Counted& job, const std::vector<StateSlice>& slices) {
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t least = kAnyBytes;
  do {
    std::int64_t bytes = 0;
    int column = 0;
    for (const std::size_t i : order) {
      bytes += job.holders.moved_bytes({0, column, slices[i].width, 0, 100}, slices[i].place);
      column += slices[i].width;
    }
    least = std::min(least, bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(MovedBytes, OfColumnsAreNearTheLeastThatAnyOrderNeeds) {
  std::mt19937_64 random(4);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  std::int64_t all = 0;
  std::int64_t least_of_all = 0;
  for (std::uint64_t round = 0; round < testing::drawn_tasks(400); ++round) {
    SCOPED_TRACE(round);
    std::vector<std::pair<int, int>> widths;
    for (int i = 1 + below(5); i > 0; --i) widths.emplace_back(4 + 4 * below(8), below(kDevices));
    Counted job(job_of(widths));
    std::vector<StateSlice> slices = slices_of(widths);
    for (int edits = below(4); edits > 0; --edits) {
      StateSlice& one = slices[static_cast<std::size_t>(below(static_cast<int>(slices.size())))];
      if (below(2) == 0 || one.width < 8 || slices.size() > 5) {
        one.place = below(kDevices);
        continue;
      }
      StateSlice part = one;
      part.width = 4 * (1 + below(one.width / 4 - 1));
      part.place = below(kDevices);
      one.width -= part.width;
      slices.push_back(part);
    }
    const std::int64_t bytes = job.moved.of_slices(slices);
    const std::int64_t least = least_bytes(job, slices);
    EXPECT_GE(bytes, least);
    all += bytes;
    least_of_all += least;
    // They do not depend on the order of slices, and a plan has just these columns.
    std::shuffle(slices.begin(), slices.end(), random);
    EXPECT_EQ(job.moved.of_slices(slices), bytes);
    Plan plan;
    plan.shards.resize(kDevices);
    int column = 0;
    for (const StateSlice& one : slices) {
      plan.shards[static_cast<std::size_t>(one.place)].push_back(
          static_cast<int>(plan.slices.size()));
      plan.slices.push_back({0, column, one.width, 0, 100});
      column += one.width;
    }
    const PlanState state(job.catalog, job.ways, plan, &job.moved);
    EXPECT_EQ(state.sums.moved_bytes, bytes);
    EXPECT_EQ(moved_bytes(job.holders.moves_to(state.plan())), bytes);
  }
  EXPECT_LE(static_cast<double>(all), 1.1 * static_cast<double>(least_of_all));
}

}  // namespace
}  // namespace neuroshard
