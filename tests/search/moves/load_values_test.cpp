// The place of least value among all places, whichever of them are looked at.
#include "search/moves/load_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "plain_table.h"
#include "repetitions.h"
#include "search/state/task_state.h"

namespace neuroshard {
namespace {

constexpr int kTables = 6;

/// Up to 300 devices, which differ in one task of two.
Task task_of_many_devices(Random& random) {
  Task task;
  for (int i = 0; i < kTables; ++i) {
    task.tables.push_back(testing::plain_table(1000 << random.below(12), 32, 1 << random.below(6)));
  }
  task.devices = 1 + static_cast<int>(random.below(300));
  task.memory_bytes = std::int64_t{1} << 30;
  task.overlap.ids = random.below(2) == 0;
  if (random.below(3) == 0) {
    task.host = {.bytes = std::int64_t{1} << 30, .link_gb_s = 0.1, .prefetch = true};
  }
  if (random.below(2) == 0) return task;
  for (int d = 0; d < task.devices; ++d) {
    task.device_list.push_back({.memory_bytes = task.memory_bytes >> random.below(6),
                                .speed = 1.0 + 0.5 * static_cast<double>(random.below(2))});
  }
  return task;
}

/// Sums of devices that are all empty, and what gets a slice more.
class Devices : private testing::TaskState {
 public:
  using TaskState::prices;

  explicit Devices(const Task& task) : TaskState(task) {
    prices.price_state();
    sums = state.sums;
  }

  [[nodiscard]] int shard(int table, int width) {
    return catalog.shard(catalog.all_rows(table), width);
  }
  void add(int device, int shard) {
    const auto d = static_cast<std::size_t>(device);
    const ShardLoad& load = catalog.load(shard);
    sums.compute_ms[d] += static_cast<float>(prices.added_ms(shard) / prices.speed(d));
    sums.columns[d] += static_cast<float>(load.columns);
    sums.ids[d] += load.ids;
    sums.bytes[d] += load.bytes;
    if (load.hosted != nullptr) sums.hosted[d].add(*load.hosted);
  }
  PlanSums sums;
};

/// Looks at all places. `more`: what each costs beside its value; below 0, it is not allowed.
LeastPlace least_of_all(LoadValues& values, int shard, int group, const std::vector<double>& more) {
  LeastPlace least;
  for (std::size_t place = 0; place < more.size(); ++place) {
    double dearest = values.value(place * static_cast<std::size_t>(group), shard);
    for (int i = 1; i < group; ++i) {
      const auto device = static_cast<int>(place) * group + i;
      dearest = std::max(dearest, values.value(static_cast<std::size_t>(device), shard));
    }
    const double value = dearest + more[place];
    if (more[place] >= 0.0 && value < least.value) least = {static_cast<int>(place), value};
  }
  return least;
}

TEST(LoadValues, FindTheFirstPlaceOfLeastValue) {
  int steps = 0;
  int beyond_first_block = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(60))) {
    Random random(seed);
    const Task task = task_of_many_devices(random);
    Devices devices(task);
    LoadValues values(devices.sums, devices.prices);
    values.begin(200.0 + 100.0 * random.uniform());
    for (int step = 0; step < 300; ++step) {
      ++steps;
      const int shard =
          devices.shard(static_cast<int>(random.below(kTables)), kDimMultiple << random.below(4));
      const int group = std::min(task.devices, step % 10 != 0 ? 1 : 1 << random.below(8));
      std::vector<double> more(static_cast<std::size_t>(task.devices / group), 0.0);
      if (step % 3 == 0) {
        for (double& one : more) one = 0.1 * random.uniform() - 0.02;
      }
      const LeastPlace least =
          values.least_place(shard, group, static_cast<int>(more.size()),
                             [&](int place, double value, LeastPlace& to) {
                               const double beside = more[static_cast<std::size_t>(place)];
                               if (beside >= 0.0 && to.is_behind(place, value + beside))
                                 to = {place, value + beside};
                             });
      const LeastPlace expected = least_of_all(values, shard, group, more);
      ASSERT_EQ(least.place, expected.place) << step;
      ASSERT_EQ(least.value, expected.value) << step;
      if (least.place < 0) continue;
      if (least.place * group >= 32) ++beyond_first_block;
      for (int i = 0; i < group; ++i) {
        devices.add(least.place * group + i, shard);
        values.grow(least.place * group + i);
      }
    }
  }
  EXPECT_GT(10 * beyond_first_block, steps);
}

}  // namespace
}  // namespace neuroshard
