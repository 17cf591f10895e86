#include "search/found_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "repetitions.h"

namespace neuroshard {
namespace {

PlanCost costing(double ms) {
  PlanCost cost;
  cost.cost_ms = ms;
  return cost;
}

// Piece `piece` alone on device 0: as many different plans as pieces.
Layout plan_number(std::uint32_t piece) { return {{piece, 0, 0}}; }

std::vector<double> costs_of(const FoundPlans& found) {
  std::vector<double> costs;
  for (const FoundPlans::Found& plan : found.all()) costs.push_back(plan.cost.cost_ms);
  return costs;
}

TEST(FoundPlans, TellsPlansApartByWhatDevicesHold) {
  const Layout plan = {{0, 0, 0}, {3, 1, 0}, {3, 1, 2}, {5, 2, 1}};
  const Layout renumbered = {{5, 2, 0}, {3, 1, 1}, {0, 0, 2}, {3, 1, 2}};
  EXPECT_TRUE(same_plan(plan, plan));
  EXPECT_TRUE(same_plan(plan, renumbered));
  // Table 7 equals table 1: they share their pieces.
  EXPECT_TRUE(same_plan(plan, {{0, 0, 0}, {3, 7, 0}, {3, 1, 2}, {5, 2, 1}}));
  EXPECT_FALSE(same_plan(plan, {{0, 0, 0}, {3, 1, 0}, {3, 1, 0}, {5, 2, 1}}));
  EXPECT_FALSE(same_plan(plan, {{0, 0, 0}, {3, 1, 0}, {4, 1, 2}, {5, 2, 1}}));
  EXPECT_FALSE(same_plan(plan, {{0, 0, 0}, {3, 1, 0}, {5, 2, 1}}));
  EXPECT_TRUE(same_plan({}, {}));
}

TEST(FoundPlans, KeepsTheCheapestInOrder) {
  FoundPlans found(3);
  EXPECT_TRUE(found.empty());
  EXPECT_TRUE(found.add(plan_number(1), costing(5.0)));
  EXPECT_FALSE(found.add(plan_number(2), costing(7.0)));
  EXPECT_TRUE(found.add(plan_number(3), costing(4.0)));
  EXPECT_FALSE(found.add(plan_number(4), costing(8.0)));  // No room.
  EXPECT_FALSE(found.add(plan_number(5), costing(6.0)));
  EXPECT_EQ(costs_of(found), (std::vector{4.0, 5.0, 6.0}));
  EXPECT_EQ(found.best().layout, plan_number(3));
}

TEST(FoundPlans, OfEquallyCheapOnesTheFirstStaysInFront) {
  FoundPlans found(2);
  EXPECT_TRUE(found.add(plan_number(1), costing(5.0)));
  EXPECT_FALSE(found.add(plan_number(2), costing(5.0)));
  EXPECT_FALSE(found.add(plan_number(3), costing(5.0)));
  EXPECT_EQ(found.best().layout, plan_number(1));
  EXPECT_EQ(found.all()[1].layout, plan_number(2));

  FoundPlans one(1);
  EXPECT_TRUE(one.add(plan_number(1), costing(5.0)));
  EXPECT_FALSE(one.add(plan_number(2), costing(5.0)));
  EXPECT_EQ(one.best().layout, plan_number(1));
}

TEST(FoundPlans, KeepsOneOfEqualPlansAtItsLowestCost) {
  const Layout plan = {{1, 0, 0}, {2, 1, 1}};
  const Layout renumbered = {{2, 1, 0}, {1, 0, 1}};
  FoundPlans found(3);
  EXPECT_TRUE(found.add(plan, costing(5.0)));
  EXPECT_FALSE(found.add(renumbered, costing(5.0)));
  EXPECT_FALSE(found.add(plan_number(9), costing(6.0)));
  EXPECT_FALSE(found.add(renumbered, costing(5.5)));
  EXPECT_EQ(costs_of(found), (std::vector{5.0, 6.0}));
  EXPECT_TRUE(found.add(renumbered, costing(4.0)));  // Rounded otherwise.
  EXPECT_EQ(costs_of(found), (std::vector{4.0, 6.0}));
  EXPECT_EQ(found.best().layout, renumbered);
}

TEST(FoundPlans, AgreesWithKeepingEverything) {
  std::mt19937_64 random(3);
  for (std::uint64_t round = 0; round < testing::repetitions(300); ++round) {
    SCOPED_TRACE(round);
    const std::size_t most = 1 + random() % 5;
    FoundPlans found(most);
    // A plan always has the same cost here.
    std::map<std::uint32_t, double> all;
    for (int i = 0; i < 30; ++i) {
      const auto number = static_cast<std::uint32_t>(random() % 12);
      const double ms = static_cast<double>(number * 7919U % 13U);
      const bool cheapest =
          std::all_of(all.begin(), all.end(), [&](const auto& plan) { return ms < plan.second; });
      EXPECT_EQ(found.add(plan_number(number), costing(ms)), cheapest);
      all[number] = ms;
    }
    std::vector<double> expected;
    for (const auto& plan : all) expected.push_back(plan.second);
    std::sort(expected.begin(), expected.end());
    expected.resize(std::min(expected.size(), most));
    EXPECT_EQ(costs_of(found), expected);
  }
}

}  // namespace
}  // namespace neuroshard
