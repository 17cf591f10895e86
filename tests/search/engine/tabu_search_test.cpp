// Whole neighbourhoods of plans of random tasks: which edits they have, and what a search leaves.
#include "search/engine/tabu_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/tables/table_groups.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/moves/all_slice_moves.h"
#include "search/planned_cuts.h"
#include "search/random_rules.h"
#include "search/state/task_state.h"

namespace neuroshard {
namespace {

constexpr double kShareOfSums = 1e-5;  // Share of a cost: sums in another order.

/// A plan of a random task of everything that a task can say, ready to be searched.
class Searched : private testing::TaskState {
 public:
  using TaskState::prices;
  using TaskState::state;

  Searched(const Task& task, const Plan& listed)
      : TaskState(task, listed), task_(task), edit_prices_(prices) {
    prices.price_state();
  }

  std::uint64_t search(std::uint64_t edits, const StopCondition& stop = {}) {
    return tabu_search(state, prices, edit_prices_, edits, stop);
  }
  [[nodiscard]] double simulated_ms() const {
    return simulate(*backend, task_, canonical.plan_of_listed(state.plan())).slowest_ms();
  }
  /// After an edit, which is taken back. All devices are priced.
  [[nodiscard]] double objective_ms_after(const Edit& edit) {
    const PlanSums before = state.sums;
    state.begin_undo();
    prices.apply(edit);
    const double ms = prices.objective_ms();
    prices.undo(before);
    return ms;
  }
  [[nodiscard]] std::vector<Edit> edits_at(std::size_t device) const {
    std::vector<Edit> edits;
    AllSliceMoves(state).for_each_at(static_cast<int>(device), [&](const Edit& edit) {
      edits.push_back(edit);
      return true;
    });
    return edits;
  }

 private:
  Task task_;
  EditPrices edit_prices_;
};

/// `devices`: in place of those that are drawn. Null: there is nothing to search.
std::unique_ptr<Searched> searched(std::uint64_t seed, std::optional<int> devices = {}) {
  Task task = testing::random_task_of_all_kinds(seed);
  if (devices) {
    if (!task.device_list.empty()) return nullptr;
    task.devices = *devices;
  }
  Random random(seed, 71);
  if (seed % 4 == 1) testing::add_random_rules(task, random);
  if (seed % 4 == 2) testing::add_random_kinds(task, random);
  if (seed % 4 == 3) testing::add_random_groups(task, 2, random);
  task.overlap.ids = seed % 3 == 0;
  if (seed % 7 < 2) testing::add_host_memory(task, seed);
  if (task.devices < 2) return nullptr;
  const PlanResult planned = testing::planner_of(Effort::kFast).plan(task);
  if (!planned.plan) return nullptr;
  auto one = std::make_unique<Searched>(with_rules_of_groups(task), *planned.plan);
  return one->state.tables().empty() ? nullptr : std::move(one);
}

bool same_edit(const Edit& a, const Edit& b) { return a.out == b.out && a.in == b.in; }

// Every move of a slice, and every exchange of two, is there once if it keeps limits; and all edits
// keep them, and the columns of tables.
TEST(AllSliceMoves, HaveEveryMoveAndSwapOnce) {
  int moves = 0;
  int swaps = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(40))) {
    const auto one = searched(seed);
    if (!one || one->state.ways().devices() > 16) continue;
    const PlanState& state = one->state;
    const std::vector<Edit> edits = one->edits_at(0);
    const auto times = [&](const Edit& edit) {
      return std::ranges::count_if(edits,
                                   [&](const Edit& other) { return same_edit(edit, other); });
    };
    for (const int id : state.at(Way::kDevice, 0)) {
      const StateSlice& slice = state.slice(id);
      for (int place = 1; place < state.ways().devices(); ++place) {
        StateSlice there = slice;
        there.place = place;
        const Edit move{{id}, {there}};
        EXPECT_EQ(times(move), keeps_limits(state, move) ? 1 : 0);
        ++moves;
        for (const int other : state.at(Way::kDevice, place)) {
          StateSlice back = state.slice(other);
          if (back.table == slice.table && back.width == slice.width) continue;
          back.place = 0;
          const Edit swap{{id, other}, {there, back}};
          EXPECT_EQ(times(swap), keeps_limits(state, swap) ? 1 : 0);
          ++swaps;
        }
      }
    }
    for (const Edit& edit : edits) {
      EXPECT_TRUE(keeps_limits(state, edit));
      int columns = 0;
      for (const int id : edit.out) columns += state.slice(id).width;
      for (const StateSlice& slice : edit.in) columns -= slice.width;
      EXPECT_EQ(columns, 0);
    }
  }
  EXPECT_GT(moves, 0);
  EXPECT_GT(swaps, 0);
}

TEST(AllSliceMoves, EndWhenToldTo) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto one = searched(seed);
    if (!one || one->edits_at(0).size() < 3) continue;
    int seen = 0;
    AllSliceMoves(one->state).for_each_at(0, [&](const Edit&) { return ++seen < 2; });
    EXPECT_EQ(seen, 2);
    return;
  }
  FAIL() << "no task has so many edits";
}

// No edit of the devices that the plan waits for makes it cheaper, as a price of all devices has
// it.
TEST(TabuSearch, LeavesAPlanThatNoEditMakesCheaper) {
  int improved = 0;
  std::uint64_t looked = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(40))) {
    const auto one = searched(seed);
    if (!one || one->state.ways().devices() > 16) continue;  // With more, prices are estimates.
    const double before_ms = one->prices.objective_ms();
    looked += one->search(std::numeric_limits<std::uint64_t>::max());
    const double after_ms = one->prices.objective_ms();
    EXPECT_LE(after_ms, before_ms);
    if (after_ms < before_ms) ++improved;
    const double cost_ms = one->state.sums.cost_ms;
    EXPECT_NEAR(cost_ms, one->simulated_ms(), kShareOfSums * cost_ms);
    EXPECT_TRUE(one->state.is_whole());
    for (const std::size_t device : {one->prices.ranks().slowest, one->prices.ranks().last_ready}) {
      for (const Edit& edit : one->edits_at(device)) {
        EXPECT_GE(one->objective_ms_after(edit), after_ms * (1.0 - kShareOfSums));
      }
    }
  }
  EXPECT_GT(improved, 0);
  EXPECT_GT(looked, 1000U);
}

TEST(TabuSearch, IsTheSameAgain) {
  int searches = 0;
  for (std::uint64_t seed = 0; seed < testing::drawn_tasks(20); ++seed) {
    const auto one = searched(seed);
    if (!one) continue;
    const auto again = searched(seed);
    EXPECT_EQ(one->search(2000), again->search(2000));
    EXPECT_EQ(one->state.plan(), again->state.plan());
    EXPECT_EQ(one->state.sums.cost_ms, again->state.sums.cost_ms);
    ++searches;
  }
  EXPECT_GT(searches, 0);
}

// Beyond some devices prices of edits are estimates: the plan may be dearer by as much, and no
// more.
TEST(TabuSearch, DoesNotLeaveManyDevicesDearer) {
  int searches = 0;
  for (const std::uint64_t seed : testing::Seeds(testing::drawn_tasks(30))) {
    const auto one = searched(seed, 24);
    if (!one) continue;
    const double before_ms = one->state.sums.cost_ms;
    one->search(5000);
    one->prices.price_state();
    EXPECT_LE(one->state.sums.cost_ms, before_ms + 0.02 * std::abs(before_ms));
    ++searches;
  }
  EXPECT_GT(searches, 0);
}

TEST(TabuSearch, StopsAndLeavesThePlanAsItWas) {
  const StopCondition at_once([] { return true; });
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto one = searched(seed);
    if (!one) continue;
    const Plan before = one->state.plan();
    EXPECT_LE(one->search(1000000, at_once), 256U);
    EXPECT_EQ(one->state.plan(), before);
  }
}

}  // namespace
}  // namespace neuroshard
