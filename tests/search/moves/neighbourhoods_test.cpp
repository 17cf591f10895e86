#include "search/moves/neighbourhoods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "repetitions.h"
#include "search/moves/rebuild.h"
#include "search/moves/two_widths.h"
#include "search/state/task_state.h"

namespace neuroshard {
namespace {

using testing::kNarrow;
using testing::kWide;

/// Cuts all tables of a plan by a width.
class Cut : private testing::TaskState {
 public:
  explicit Cut(const Task& task)
      : TaskState(task, testing::plan_on_one_device(task)),
        rebuild_(state, prices, random_),
        neighbourhoods_(state, prices, random_) {
    prices.price_state();
  }

  [[nodiscard]] bool by_width(int columns, double whole_devices) {
    return neighbourhoods_.cut_by_width(rebuild_, {.columns = columns}, whole_devices);
  }
  [[nodiscard]] bool place() { return rebuild_.place(0.0); }
  /// [tables][slices]
  [[nodiscard]] std::vector<std::vector<int>> widths() const {
    std::vector<std::vector<int>> widths(state.task().tables.size());
    for (const StateSlice& slice : rebuild_.edit().in) {
      widths[static_cast<std::size_t>(slice.table)].push_back(slice.width);
    }
    return widths;
  }
  [[nodiscard]] double added_ms(int table, int width) {
    return prices.added_ms(catalog.shard(catalog.all_rows(table), width));
  }
  [[nodiscard]] const std::vector<Table>& tables() const { return state.task().tables; }

 private:
  Random random_{1};
  Rebuild rebuild_;
  Neighbourhoods neighbourhoods_;
};

TEST(Neighbourhoods, KeepWholeWhatGainsMostByItAndCutOthers) {
  constexpr double kRounded = 1e-6;
  int of_both = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(40))) {
    Random random(seed);
    const Task task = testing::task_of_two_widths(random);
    Cut cut(task);
    const double whole_devices = 0.5 + 0.25 * task.devices * random.uniform();
    if (!cut.by_width(kNarrow, whole_devices)) continue;
    ASSERT_TRUE(cut.place());
    const std::vector<std::vector<int>> widths = cut.widths();
    struct Wide {
      double ms;
      double gain_ms;
      bool is_whole;
    };
    std::vector<Wide> wide;
    double all_ms = 0.0;
    double whole_ms = 0.0;
    for (std::size_t t = 0; t < widths.size(); ++t) {
      const int dim = cut.tables()[t].dim;
      const double ms = cut.added_ms(static_cast<int>(t), dim);
      all_ms += ms;
      const bool is_whole = widths[t] == std::vector<int>{dim};
      if (dim == kNarrow) {
        EXPECT_TRUE(is_whole);
        continue;
      }
      wide.push_back({ms, 4 * cut.added_ms(static_cast<int>(t), kNarrow) - ms, is_whole});
      if (is_whole) {
        whole_ms += ms;
      } else {
        EXPECT_EQ(widths[t], std::vector<int>(4, kNarrow));
      }
    }
    ASSERT_FALSE(wide.empty());
    const double room_ms = whole_devices * all_ms / task.devices;
    const Wide& first = *std::ranges::max_element(wide, {}, &Wide::gain_ms);
    EXPECT_EQ(first.is_whole, 0.5 * first.ms <= room_ms);
    for (const Wide& one : wide) {
      if (one.is_whole) continue;
      EXPECT_GT(0.5 * one.ms, room_ms - whole_ms - kRounded);
    }
    EXPECT_LT(whole_ms, room_ms + 0.5 * std::ranges::max(wide, {}, &Wide::ms).ms + kRounded);
    if (whole_ms > 0.0 && !std::ranges::all_of(wide, &Wide::is_whole)) ++of_both;
  }
  EXPECT_GE(2 * of_both, static_cast<int>(testing::repetitions(40)));
}

TEST(Neighbourhoods, CutNothingByAWidthThatNoTableExceeds) {
  Random random(5);
  Cut cut(testing::task_of_two_widths(random));
  EXPECT_FALSE(cut.by_width(kWide, 1.0));
}

}  // namespace
}  // namespace neuroshard
