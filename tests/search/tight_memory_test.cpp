// Tasks that are known to fit, since their tables were cut from full devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/base/random.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::HasSubstr;
using testing::random_models;

struct TaskShape {
  std::vector<int> dims;
  std::uint64_t most_tables;  ///< On a device.
  std::uint64_t most_devices;
};

// Tables that fill each device to `full` of its memory, but for less than a row of each.
Task task_that_fits(std::uint64_t seed, const TaskShape& shape, double full) {
  Random random(seed);
  Task task;
  task.devices = 2 + static_cast<int>(random.below(shape.most_devices - 1));
  task.memory_bytes = 100'000'000 + static_cast<std::int64_t>(random.below(1'000'000'000));
  for (int device = 0; device < task.devices; ++device) {
    std::vector<double> shares(1 + random.below(shape.most_tables));
    double sum = 0.0;
    for (double& share : shares) sum += share = 0.05 + random.uniform();
    for (const double share : shares) {
      Table& table = task.tables.emplace_back();
      table.dim = shape.dims[random.below(shape.dims.size())];
      table.rows = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(task.memory_bytes) * full * share / sum /
                                       (4.0 * table.dim)));
      table.pooling_factor = 1.0 + static_cast<double>(random.below(20));
      table.access_histogram[random.below(5)] = 1.0;
    }
  }
  std::shuffle(task.tables.begin(), task.tables.end(), std::mt19937_64(seed));
  return task;
}

// Tables halved until no slice exceeds `most_bytes`; the largest slice first, to the first device
// with room, or to the one with the least room.
bool packs(const Task& task, std::int64_t most_bytes, bool best_fit) {
  std::vector<std::int64_t> sizes;
  for (const Table& table : task.tables) {
    int dim = table.dim;
    std::size_t slices = 1;
    for (; slice_bytes(table, dim) > most_bytes && can_split_columns(dim); slices *= 2) dim /= 2;
    sizes.insert(sizes.end(), slices, slice_bytes(table, dim));
  }
  std::sort(sizes.rbegin(), sizes.rend());
  std::vector<std::int64_t> room(static_cast<std::size_t>(task.devices), task.memory_bytes);
  for (const std::int64_t size : sizes) {
    std::int64_t* chosen = nullptr;
    for (std::int64_t& one : room) {
      if (one >= size && (chosen == nullptr || (best_fit && one < *chosen))) chosen = &one;
    }
    if (chosen == nullptr) return false;
    *chosen -= size;
  }
  return true;
}

bool a_simple_way_packs(const Task& task) {
  for (std::int64_t most_bytes = task.memory_bytes; most_bytes > 1000; most_bytes /= 2) {
    if (packs(task, most_bytes, false) || packs(task, most_bytes, true)) return true;
  }
  return false;
}

class TightMemory : public ::testing::TestWithParam<double> {};

TEST_P(TightMemory, HoldsWhatIsKnownToFit) {
  const Planner planner(
      random_models(5),
      {.effort = Effort::kFast,
       .search = {.beam_width = 1, .candidates = 1, .max_splits = 1, .grid_steps = 2},
       .threads = 1});
  const std::vector<TaskShape> shapes = {
      {{4, 12, 20, 28, 36, 44}, 12, 8},  // None can be halved.
      {{20, 24, 40, 72, 88, 136}, 6, 6},
      {{16, 32, 64, 128}, 3, 4},
      {{12, 28, 60}, 3, 4},
  };
  int hard = 0;
  for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
    for (std::uint64_t seed = 0; seed < drawn_tasks(50); ++seed) {
      SCOPED_TRACE(shape);
      SCOPED_TRACE(seed);
      const Task task = task_that_fits(seed, shapes[shape], GetParam());
      const PlanResult result = planner.plan(task);
      ASSERT_TRUE(result.plan.has_value())
          << result.infeasible->message << (a_simple_way_packs(task) ? " (a simple way does)" : "");
      EXPECT_NO_THROW(validate(*result.plan, task));
      EXPECT_TRUE(result.cost.fits_memory);
      EXPECT_EQ(planner.simulate(task, *result.plan).cost_ms, result.cost.cost_ms);
      hard += a_simple_way_packs(task) ? 0 : 1;
    }
  }
  EXPECT_TRUE(hard > 0 || GetParam() < 0.99 || testing::kFewTasks);
}

INSTANTIATE_TEST_SUITE_P(Full, TightMemory, ::testing::Values(0.97, 0.99, 0.999));

TEST(TightMemory, SaysWhenPackingIsProvenImpossible) {
  // Three tables of more than half a device on two devices, and none can be halved.
  Task task{.devices = 2, .memory_bytes = 100'000'000};
  for (int t = 0; t < 3; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 1'100'000 + 10 * t;
    table.dim = 12;
    table.pooling_factor = 1.0;
    table.access_histogram[0] = 1.0;
  }
  std::swap(task.tables[0], task.tables[2]);
  const PlanResult result = Planner(random_models(5)).plan(task);
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kPacking);
  EXPECT_THAT(result.infeasible->message, HasSubstr("cannot be packed, however finely"));
  // The table as the task lists it, not as the search sorts it.
  EXPECT_EQ(result.infeasible->table, 0);
  EXPECT_EQ(result.infeasible->largest_piece_bytes, 1'100'020 * 48);
}

}  // namespace
}  // namespace neuroshard
