// A way of sharding, a cost and a limit that the library does not have, given to its search: each
// is what this file says of it, and nothing else has to know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/tables/table_groups.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/canonical_task.h"
#include "search/engine/chain.h"
#include "search/plan_recount.h"
#include "search/random_rules.h"
#include "search/state/edit_prices.h"
#include "search/state/followed_edits.h"
#include "search/state/plan_limits.h"
#include "search/state/plan_terms.h"

namespace neuroshard::additions {
namespace {

using testing::drawn_tasks;
using ::testing::IsEmpty;

constexpr double kExact = 1e-5;  // A share of a cost: sums in another order.
constexpr std::uint64_t kEdits = 4000;

/// A task of at least four devices, and all that prices plans of it.
struct Case {
  explicit Case(Task drawn)
      : task(std::move(drawn)),
        backend(make_cpu_backend(models_for(builtin_weights(), comm_setting(task)))),
        canonical(canonical_task(task)) {}

  Task task;
  std::unique_ptr<Backend> backend;
  BundledTask canonical;

  [[nodiscard]] double simulated_ms(const Plan& plan) const {
    return simulate(*backend, task, canonical.plan_of_listed(plan)).cost_ms;
  }
};

std::optional<Task> task_of(std::uint64_t seed) {
  Task task = testing::random_task_of_all_kinds(seed);
  if (task.devices < 4) return std::nullopt;
  Random random(seed, 95);
  testing::add_some_rules(task, seed, random);
  return with_rules_of_groups(task);
}

/// A plan of the case as the search knows it.
class ReadPlan {
 public:
  ReadPlan(const Case& of, const WayOptions& options, const Plan& plan)
      : catalog_(*of.backend, of.canonical),
        ways_(catalog_, of.canonical, options),
        state(catalog_, ways_, plan),
        prices(state) {
    prices.price_state();
  }

 private:
  ShardCatalog catalog_;
  TableWays ways_;

 public:
  PlanState state;
  StatePrices prices;
};

/// The best that a chain finds from nothing, and its cost.
struct Found {
  Plan plan;
  double ms;
};

std::optional<Found> found(const Case& of, const WayOptions& options) {
  Plan nothing;
  nothing.shards.resize(static_cast<std::size_t>(of.task.devices));
  const StopCondition never;
  Chain chain(*of.backend, of.canonical, options, nothing, {.rungs = 3, .ways = true}, never);
  chain.run(kEdits, never);
  if (chain.best() == nullptr) return std::nullopt;
  return Found{*chain.best(), chain.best_ms()};
}

// ----------------------------------------------------------------------------------- a way

/// Equal blocks of rows on two neighbours, of one or more slices of columns.
constexpr Way kInPairs{static_cast<std::uint8_t>(6)};
constexpr WayForm kPairs{.group =
                             [](const Task& task) {
                               return task.devices > 2 && task.devices_per_node > 2 &&
                                              task.devices_per_node % 2 == 0
                                          ? 2
                                          : 0;
                             },
                         .most_slices = most_slices_in_blocks,
                         .drawn = 0.2};

/// As if the planner knew no blocks on parts of nodes, which pairs are.
std::vector<WayForm> forms_of_nodes() {
  std::vector<WayForm> forms(way_forms().begin(), way_forms().end());
  for (WayForm& form : forms) {
    if (form.of_part) form.group = [](const Task&) { return 0; };
  }
  return forms;
}

std::vector<WayForm> forms_with_pairs() {
  std::vector<WayForm> forms = forms_of_nodes();
  forms.push_back(kPairs);
  return forms;
}

TEST(Additions, AWayIsFoundWhereItPays) {
  const std::vector<WayForm> forms = forms_with_pairs();
  const std::vector<WayForm> of_nodes = forms_of_nodes();
  int in_pairs = 0;
  int cheaper = 0;
  int dearer = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(80))) {
    const std::optional<Task> task = task_of(seed);
    if (!task) continue;
    const Case one(*task);
    const std::optional<Found> with = found(one, {.forms = forms});
    if (!with) continue;
    const Plan plan = one.canonical.plan_of_listed(with->plan);
    const PlanCost cost = simulate(*one.backend, one.task, plan);
    EXPECT_THAT(check_plan(plan, one.task), IsEmpty());
    testing::expect_recounts(one.task, plan, cost);
    EXPECT_NEAR(with->ms, cost.cost_ms, kExact * cost.cost_ms);
    ReadPlan read(one, {.forms = forms}, with->plan);
    EXPECT_NEAR(read.state.sums.cost_ms, cost.cost_ms, kExact * cost.cost_ms);
    EXPECT_EQ(read.state.plan().replicas, with->plan.replicas);
    const auto pairs = std::ranges::count_if(
        read.state.tables(), [&](int t) { return read.state.way_of(t) == kInPairs; });
    in_pairs += pairs > 0 ? 1 : 0;
    const std::optional<Found> without = found(one, {.forms = of_nodes});
    if (!without) continue;
    cheaper += with->ms < 0.99 * without->ms ? 1 : 0;
    dearer += with->ms > 1.01 * without->ms ? 1 : 0;
  }
  if (testing::kFewTasks) return;  // Too few tasks.
  EXPECT_GT(in_pairs, 0);
  EXPECT_GT(cheaper, dearer);
}

TEST(Additions, AWayIsPricedAsTheSimulatorDoes) {
  const std::vector<WayForm> forms = forms_with_pairs();
  int followed = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const std::optional<Task> task = task_of(seed);
    if (!task) continue;
    const Case one(*task);
    const std::optional<Found> start = found(one, {.forms = forms});
    if (!start) continue;
    ReadPlan plan(one, {.forms = forms}, start->plan);
    followed += testing::follow_edits(plan.state, plan.prices, seed, [&](const EditPrice* price) {
      const double ms = one.simulated_ms(plan.state.plan());
      EXPECT_NEAR(price != nullptr ? price->cost_ms : plan.state.sums.cost_ms, ms, kExact * ms);
    });
  }
  EXPECT_GT(followed, 0);
}

// ---------------------------------------------------------------------------------- a cost

/// Each slice costs so much.
class FeeOfSlices final : public PlanTerm {
 public:
  explicit FeeOfSlices(double fee_ms) : fee_ms_(fee_ms) {}
  [[nodiscard]] double ms(const PlanState& state) const override {
    return fee_ms_ * state.sums.slices;
  }
  [[nodiscard]] double added_ms(const PlanState&, const Edit& edit) const override {
    return fee_ms_ * (static_cast<double>(edit.in.size()) - static_cast<double>(edit.out.size()));
  }

 private:
  double fee_ms_;
};

TEST(Additions, ACostIsPartOfWhatEditsCostAndPlansGetCheaperByIt) {
  int followed = 0;
  double with_ms = 0.0;
  double without_ms = 0.0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const std::optional<Task> task = task_of(seed);
    if (!task) continue;
    const Case one(*task);
    const std::optional<Found> blind = found(one, {});
    if (!blind) continue;
    const double fee_ms = 0.03 * blind->ms;
    const FeeOfSlices fee(fee_ms);
    const std::array<const PlanTerm*, 1> terms = {&fee};
    const WayOptions options{.terms = terms};
    const std::optional<Found> with = found(one, options);
    ASSERT_TRUE(with);
    const double all_ms = ReadPlan(one, options, with->plan).state.sums.cost_ms;
    EXPECT_NEAR(with->ms, all_ms, kExact * all_ms);
    with_ms += all_ms / blind->ms;
    ReadPlan plan(one, options, blind->plan);
    without_ms += plan.state.sums.cost_ms / blind->ms;
    followed += testing::follow_edits(plan.state, plan.prices, seed, [&](const EditPrice* price) {
      const double ms = one.simulated_ms(plan.state.plan()) + fee_ms * plan.state.sums.slices;
      EXPECT_NEAR(plan.state.sums.cost_ms, ms, kExact * ms);
      EXPECT_NEAR(price != nullptr ? price->cost_ms : ms, ms, kExact * ms);
    });
  }
  EXPECT_GT(followed, 0);
  EXPECT_LT(with_ms, 0.95 * without_ms);
}

// --------------------------------------------------------------------------------- a limit

/// No device holds more shards than so many.
class MostShards final : public PlanLimit {
 public:
  explicit MostShards(int most) : most_(most) {}
  [[nodiscard]] bool allows(const PlanState& state, const Edit& edit) const override {
    std::vector<int> shards = state.sums.shards;
    count(state, edit, shards);
    return is_kept(shards);
  }
  [[nodiscard]] bool allows_there(const PlanState& state, const Edit& edit,
                                  const StateSlice& slice) const override {
    std::vector<int> shards = state.sums.shards;
    count(state, edit, shards);
    bool allowed = true;
    state.for_each_shard(slice, [&](int device, int) {
      allowed &= shards[static_cast<std::size_t>(device)] < most_;
    });
    return allowed;
  }
  [[nodiscard]] bool holds(const PlanState& state) const override {
    return is_kept(state.sums.shards);
  }

 private:
  [[nodiscard]] bool is_kept(const std::vector<int>& shards) const {
    return std::ranges::max(shards) <= most_;
  }
  static void count(const PlanState& state, const Edit& edit, std::vector<int>& shards) {
    const auto add = [&](const StateSlice& slice, int sign) {
      state.for_each_shard(
          slice, [&](int device, int) { shards[static_cast<std::size_t>(device)] += sign; });
    };
    for (const int id : edit.out) add(state.slice(id), -1);
    for (const StateSlice& slice : edit.in) add(slice, 1);
  }

  int most_;
};

TEST(Additions, ALimitIsKeptByAllPlansOfAChain) {
  int kept = 0;
  int more_without = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(60))) {
    const std::optional<Task> task = task_of(seed);
    if (!task) continue;
    const Case one(*task);
    const int tables = static_cast<int>(one.canonical.task.tables.size());
    const int most = tables / task->devices + 2;
    const MostShards limit(most);
    const std::array<const PlanLimit*, 1> limits = {&limit};
    const WayOptions options{.limits = limits};
    Plan nothing;
    nothing.shards.resize(static_cast<std::size_t>(task->devices));
    const StopCondition never;
    Chain chain(*one.backend, one.canonical, options, nothing, {.rungs = 3, .ways = true}, never);
    for (std::uint64_t edits = 500; edits <= kEdits; edits += 500) {
      chain.run(edits, never);
      if (chain.best() == nullptr) continue;
      ++kept;
      EXPECT_TRUE(limit.holds(ReadPlan(one, options, *chain.best()).state));
    }
    for (const Chain::Settled& rung : chain.settled_rungs()) {
      EXPECT_TRUE(limit.holds(ReadPlan(one, options, rung.plan).state));
    }
    const std::optional<Found> without = found(one, {});
    more_without += without && !limit.holds(ReadPlan(one, {}, without->plan).state) ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(more_without, 0);
}

// ----------------------------------------------------------------------------------- a move

/// All slices of a table go one place on. False: there is none, or limits forbid it.
bool move_on(const PlanState& state, int table, Edit& edit) {
  edit.clear();
  const int places = state.ways().places(state.way_of(table));
  for (const int id : state.of_table(table)) {
    edit.out.push_back(id);
    edit.in.push_back(state.slice(id));
    edit.in.back().place = (edit.in.back().place + 1) % places;
  }
  return places > 1 && keeps_limits(state, edit);
}

TEST(Additions, AMoveIsAnyEditAndIsPricedAsSuch) {
  int taken = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const std::optional<Task> task = task_of(seed);
    if (!task) continue;
    const Case one(*task);
    const std::optional<Found> start = found(one, {});
    if (!start) continue;
    ReadPlan plan(one, {}, start->plan);
    testing::follow_edits(plan.state, plan.prices, seed,
                          [](const EditPrice*) {});  // So that it is no good plan.
    const double before_ms = one.simulated_ms(plan.state.plan());
    EditPrices edit_prices(plan.prices);
    Edit edit;
    for (const int table : plan.state.tables()) {
      if (!move_on(plan.state, table, edit)) continue;
      edit_prices.begin();
      edit_prices.add(edit, 1e9);
      edit_prices.run();
      const EditPrice price = edit_prices.price(0);
      if (!(price.cost_ms < plan.state.sums.cost_ms)) continue;
      edit_prices.accept(edit, 0);
      ++taken;
      const double ms = one.simulated_ms(plan.state.plan());
      EXPECT_NEAR(price.cost_ms, ms, kExact * ms);
      EXPECT_LT(ms, before_ms * (1.0 + kExact));
    }
  }
  if (testing::kFewTasks) return;  // Too few tasks.
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace neuroshard::additions
