#include "search/moves/rebuild.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "plain_table.h"
#include "repetitions.h"
#include "search/moves/two_widths.h"
#include "search/state/task_state.h"

namespace neuroshard {
namespace {

using testing::kNarrow;
using testing::kWide;

/// Rebuilds all tables of a task.
class Placed : private testing::TaskState {
 public:
  explicit Placed(const Task& task)
      : TaskState(task, testing::plan_on_one_device(task)), rebuild_(state, prices, random_) {
    prices.price_state();
  }

  [[nodiscard]] bool place(WidthsApart apart, bool by_loads) {
    rebuild_.begin();
    rebuild_.keep_apart(apart);
    for (const int t : state.tables()) rebuild_.replace(t);
    return by_loads ? rebuild_.place_by_loads(false) : rebuild_.place(0.0);
  }
  [[nodiscard]] const std::vector<StateSlice>& slices() const { return rebuild_.edit().in; }
  [[nodiscard]] double added_ms(const StateSlice& slice) {
    return prices.added_ms(catalog.shard(catalog.all_rows(slice.table), slice.width));
  }

 private:
  Random random_{1};
  Rebuild rebuild_;
};

TEST(Rebuild, KeepsWideSlicesOnAsManyDevicesAsTheyFill) {
  int apart_on_some = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(40))) {
    Random random(seed);
    const Task task = testing::task_of_two_widths(random);
    Placed placed(task);
    const int more = static_cast<int>(random.below(2));
    ASSERT_TRUE(placed.place({.columns = kNarrow, .more_devices = more}, random.below(2) == 0));
    ASSERT_EQ(placed.slices().size(), task.tables.size());
    double wide_ms = 0.0;
    double all_ms = 0.0;
    int last_wide = -1;
    int first_narrow = task.devices;
    for (const StateSlice& slice : placed.slices()) {
      all_ms += placed.added_ms(slice);
      if (slice.width == kWide) {
        wide_ms += placed.added_ms(slice);
        last_wide = std::max(last_wide, slice.place);
      } else {
        first_narrow = std::min(first_narrow, slice.place);
      }
    }
    const int devices = static_cast<int>(task.devices * wide_ms / all_ms) + more;
    // Slices that are left no device go anywhere.
    if (devices == 0 || devices >= task.devices) continue;
    ++apart_on_some;
    EXPECT_LT(last_wide, devices);
    EXPECT_GE(first_narrow, devices);
  }
  EXPECT_GE(2 * apart_on_some, static_cast<int>(testing::repetitions(40)));
}

TEST(Rebuild, KeepsNothingApartWithoutRoom) {
  Task task{.devices = 4};
  for (int i = 0; i < 8; ++i) {
    // Wide tables have little to do, and fill less than a device with that.
    task.tables.push_back(i < 4 ? testing::plain_table(1'000'000, kWide, 1)
                                : testing::plain_table(1000, kNarrow, 100));
  }
  task.memory_bytes = 300'000'000;
  Placed placed(task);
  ASSERT_TRUE(placed.place({.columns = kNarrow, .more_devices = 1}, false));
  std::vector<int> wide(4, 0);
  for (const StateSlice& slice : placed.slices()) {
    if (slice.width == kWide) ++wide[static_cast<std::size_t>(slice.place)];
  }
  EXPECT_EQ(wide, std::vector<int>(4, 1));
}

TEST(Rebuild, ForgetsWhatWasKeptApart) {
  Random random(3);
  const Task task = testing::task_of_two_widths(random);
  Placed placed(task);
  ASSERT_TRUE(placed.place({}, false));
  const std::vector<StateSlice> before = placed.slices();
  ASSERT_TRUE(placed.place({.columns = kNarrow, .more_devices = 1}, false));
  EXPECT_NE(placed.slices(), before);
  ASSERT_TRUE(placed.place({}, false));
  EXPECT_EQ(placed.slices(), before);
}

}  // namespace
}  // namespace neuroshard
