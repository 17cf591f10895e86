// One planner, many callers at once, with tasks of all kinds. Under ThreadSanitizer in CI.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

constexpr int kCallers = 64;
constexpr int kRounds = 3;

TEST(Stress, ManyCallersOfOnePlannerGetWhatOneCallerGets) {
  // A small search reaches every path; many callers matter more here.
  const SearchOptions search{.beam_width = 2, .candidates = 4, .max_splits = 3, .grid_steps = 4};
  const CostModels models =
      testing::random_models(3, {.devices = {1, 2, 4, 8, 16}});  // None for 3 devices.
  std::vector<Task> tasks;
  std::vector<PlanResult> expected;
  const Planner alone(models, {.search = search, .threads = 1});
  int infeasible = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    tasks.push_back(testing::random_task(seed));
    expected.push_back(alone.plan(tasks.back()));
    infeasible += expected.back().infeasible ? 1 : 0;
  }
  ASSERT_GT(infeasible, 0);
  ASSERT_LT(infeasible, 20);
  Task invalid = tasks.front();
  invalid.tables.front().dim = 30;
  Task unserved = tasks.front();
  unserved.devices = 3;

  const Planner planner(models, {.search = search, .threads = 4});
  std::atomic<int> wrong{0};
  const auto same = [](const PlanResult& a, const PlanResult& b) {
    return a.plan == b.plan && a.cost.cost_ms == b.cost.cost_ms &&
           a.infeasible.has_value() == b.infeasible.has_value();
  };
  const auto refused = [](const auto& action) {
    try {
      action();
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  const auto call = [&](std::size_t caller) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::size_t i = (caller + 7 * round) % tasks.size();
      bool right = true;
      switch ((caller + round) % 4) {
        case 0:
          right = refused([&] { (void)planner.plan(caller % 8 == 0 ? invalid : unserved); });
          break;
        case 1: {
          const std::size_t first = std::min(i, tasks.size() - 3);
          const auto results = planner.plan_batch(std::span(tasks).subspan(first, 3));
          for (std::size_t t = 0; t < 3; ++t)
            right &= same(results[t].value(), expected[first + t]);
          break;
        }
        case 2:
          if (expected[i].plan) {
            right =
                planner.simulate(tasks[i], *expected[i].plan).cost_ms == expected[i].cost.cost_ms;
          }
          break;
        default:
          right = same(planner.plan(tasks[i]), expected[i]);
      }
      wrong += right ? 0 : 1;
    }
  };
  {
    std::vector<std::jthread> callers;
    for (std::size_t caller = 0; caller < kCallers; ++caller) callers.emplace_back(call, caller);
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace neuroshard
