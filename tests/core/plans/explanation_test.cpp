#include "neuroshard/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>

#include "core/placement/forwarding_backend.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

Task small_task() {
  Task task{.devices = 3, .memory_bytes = bytes_from_gib(1.0)};
  for (int i = 0; i < 5; ++i) {
    Table table{.rows = 1000 * (i + 1), .dim = 32, .pooling_factor = 1.0 + 2.0 * i};
    table.access_histogram[static_cast<std::size_t>(i)] = 1.0;
    task.tables.push_back(table);
  }
  return task;
}

/// Tables 0 and 4 are cut in two, 0 on one device.
Plan cut_plan() {
  return plan_from_halvings(small_task(),
                            {.column_splits = {0, 4}, .shards = {{0, 1, 5}, {2, 4}, {6, 3}}});
}

using Slices = std::vector<std::vector<TableSlice>>;

/// simulate() of any slices on devices: each a table of its own.
PlanCost cost_of_slices(const Backend& backend, const Task& task, const Slices& slices) {
  Task pieces = task;
  pieces.tables.clear();
  Plan plan;
  for (const std::vector<TableSlice>& shard : slices) {
    std::vector<int>& list = plan.shards.emplace_back();
    for (const TableSlice& slice : shard) {
      list.push_back(static_cast<int>(pieces.tables.size()));
      pieces.tables.push_back(table_of(task, slice));
    }
  }
  plan.slices = whole_tables(pieces);
  return simulate(backend, pieces, plan);
}

class Explanation : public ::testing::Test {
 protected:
  std::unique_ptr<Backend> backend_ = make_cpu_backend(testing::random_models(5), {});
  Task task_ = small_task();
};

TEST_F(Explanation, RanksTheDevices) {
  const PlanExplanation explained = explain(*backend_, task_, cut_plan());
  const PlanCost cost = simulate(*backend_, task_, cut_plan());
  EXPECT_EQ(explained.cost.cost_ms, cost.cost_ms);
  ASSERT_EQ(explained.by_cost.size(), 3U);
  const auto total = [&](std::size_t place) {
    return cost.devices[static_cast<std::size_t>(explained.by_cost[place])].total_ms();
  };
  EXPECT_GE(total(0), total(1));
  EXPECT_GE(total(1), total(2));
  EXPECT_NEAR(total(0), cost.cost_ms, 1e-6 * cost.cost_ms);
  const auto [first, last] = std::ranges::minmax(explained.start_offset_ms);
  EXPECT_EQ(first, 0.0);
  EXPECT_GT(last, 0.0);
}

TEST_F(Explanation, PricesThePlanWithoutEachSlice) {
  const PlanExplanation explained = explain(*backend_, task_, cut_plan());
  const Slices slices = slices_by_device(cut_plan());
  ASSERT_EQ(explained.slices.size(), slices.size());
  for (std::size_t device = 0; device < slices.size(); ++device) {
    ASSERT_EQ(explained.slices[device].size(), slices[device].size());
    for (std::size_t i = 0; i < slices[device].size(); ++i) {
      SCOPED_TRACE(::testing::Message() << device << ", " << i);
      const SliceExplanation& slice = explained.slices[device][i];
      EXPECT_EQ(slice.slice, cut_plan().shards[device][i]);
      EXPECT_EQ(slice.held, slices[device][i]);
      Slices rest = slices;
      rest[device].erase(rest[device].begin() + static_cast<std::ptrdiff_t>(i));
      const PlanCost expected = cost_of_slices(*backend_, task_, rest);
      EXPECT_EQ(slice.without.plan_ms, expected.cost_ms);
      EXPECT_EQ(slice.without.device_ms, expected.devices[device].total_ms());
    }
  }
}

TEST_F(Explanation, PricesUndoneCuts) {
  const PlanExplanation explained = explain(*backend_, task_, cut_plan());
  const auto deciding = static_cast<std::size_t>(explained.deciding);
  const Slices slices = slices_by_device(cut_plan());
  std::size_t next = 0;
  for (const int table : {0, 4}) {
    SCOPED_TRACE(table);
    const auto here = std::ranges::count(slices[deciding], table, &TableSlice::table);
    if (here == 0) continue;
    ASSERT_LT(next, explained.cuts.size());
    const CutExplanation& cut = explained.cuts[next++];
    EXPECT_EQ(cut.table, table);
    EXPECT_EQ(cut.slices, 2);
    EXPECT_EQ(cut.slices_here, here);
    Slices others = slices;
    for (std::vector<TableSlice>& shard : others) {
      std::erase_if(shard, [&](const TableSlice& slice) { return slice.table == table; });
    }
    std::vector<double> whole;
    for (std::size_t device = 0; device < others.size(); ++device) {
      Slices moved = others;
      moved[device].push_back(
          {table, 0, 32, 0, task_.tables[static_cast<std::size_t>(table)].rows});
      whole.push_back(cost_of_slices(*backend_, task_, moved).cost_ms);
    }
    ASSERT_TRUE(cut.whole);
    EXPECT_EQ(cut.whole->plan_ms, *std::ranges::min_element(whole));
    EXPECT_EQ(whole[static_cast<std::size_t>(cut.whole_device)], cut.whole->plan_ms);
    ASSERT_EQ(cut.merged.has_value(), here > 1);
    if (cut.merged) {
      EXPECT_EQ(cut.merged->plan_ms, whole[deciding]);
    }
  }
  EXPECT_EQ(next, explained.cuts.size());
  EXPECT_GT(next, 0U);
}

TEST_F(Explanation, WholeTablesGoWhereGroupsLetThem) {
  const PlanExplanation explained = explain(*backend_, task_, cut_plan());
  ASSERT_FALSE(explained.cuts.empty());
  for (const CutExplanation& cut : explained.cuts) {
    for (int device = 0; device < task_.devices; ++device) {
      const int held = device + 1;  // The whole table there.
      task_.groups = {{.tables = {held, cut.table}, .keep = Keep::kTogether}};
      const auto only = [&](std::size_t i) {
        return explain(*backend_, task_, cut_plan()).cuts[i];
      };
      const auto i = static_cast<std::size_t>(&cut - explained.cuts.data());
      EXPECT_EQ(only(i).whole_device, device);
      task_.groups[0].keep = Keep::kApart;
      EXPECT_NE(only(i).whole_device, device);
      EXPECT_TRUE(only(i).whole);
    }
  }
}

/// Without its first slice each device, and the plan, cost what `explained` says.
void expect_first_slices(const Backend& backend, const Task& task,
                         const PlanExplanation& explained) {
  const Slices slices = slices_by_device(cut_plan());
  for (std::size_t device = 0; device < slices.size(); ++device) {
    Slices rest = slices;
    rest[device].erase(rest[device].begin());
    const PlanCost expected = cost_of_slices(backend, task, rest);
    const ChangedCost& without = explained.slices[device][0].without;
    EXPECT_EQ(without.plan_ms, expected.cost_ms);
    EXPECT_EQ(without.device_ms, expected.devices[device].total_ms());
  }
}

TEST_F(Explanation, PricesThePlanByWhatRunsBesideWhat) {
  const auto backend = make_cpu_backend(testing::random_models(5, {.any_batch = true}));
  const double cost_ms = simulate(*backend, task_, cut_plan()).cost_ms;
  for (const Overlap& overlap :
       {Overlap{.ids = true, .dense_ms = 0.5},
        Overlap{.dense_beside_outputs_ms = cost_ms, .dense_beside_gradients_ms = cost_ms},
        Overlap{.host_ms = 2.0 * cost_ms}}) {
    task_.overlap = overlap;
    const PlanExplanation explained = explain(*backend, task_, cut_plan());
    expect_first_slices(*backend, task_, explained);
    if (overlap.host_ms == 0.0) continue;
    EXPECT_EQ(explained.cost.cost_ms, overlap.host_ms);
    EXPECT_EQ(explained.slices[0][0].without.plan_ms, overlap.host_ms);
  }
}

TEST_F(Explanation, PricesThePlanWithoutBaseLoadsLowSpeedsAndAllSlices) {
  task_.device_list = {{.memory_bytes = task_.memory_bytes, .base_ms = 1.5},
                       {.memory_bytes = task_.memory_bytes, .speed = 3.0},
                       {.memory_bytes = task_.memory_bytes, .base_ms = 0.25, .speed = 0.5}};
  const PlanExplanation explained = explain(*backend_, task_, cut_plan());
  ASSERT_EQ(explained.devices.size(), 3U);
  expect_first_slices(*backend_, task_, explained);
  const Slices slices = slices_by_device(cut_plan());
  for (std::size_t device = 0; device < slices.size(); ++device) {
    SCOPED_TRACE(device);
    const DeviceExplanation& of = explained.devices[device];
    EXPECT_EQ(of.wait_ms, waits_ms(explained.cost)[device]);
    EXPECT_EQ(of.without_base.has_value(), device != 1);
    EXPECT_EQ(of.at_full_speed.has_value(), device == 2);
    if (of.without_base) {
      Task without = task_;
      without.device_list[device].base_ms = 0.0;
      const PlanCost expected = simulate(*backend_, without, cut_plan());
      EXPECT_EQ(of.without_base->plan_ms, expected.cost_ms);
      EXPECT_EQ(of.without_base->device_ms, expected.devices[device].total_ms());
    }
    if (of.at_full_speed) {
      Task without = task_;
      without.device_list[device].speed = 1.0;
      EXPECT_EQ(of.at_full_speed->plan_ms, simulate(*backend_, without, cut_plan()).cost_ms);
    }
    Slices rest = slices;
    rest[device].clear();
    ASSERT_TRUE(of.without_slices);
    EXPECT_EQ(of.without_slices->plan_ms, cost_of_slices(*backend_, task_, rest).cost_ms);
  }
}

TEST_F(Explanation, CountsReplicasAfterAllElse) {
  const auto backend = make_cpu_backend(testing::random_models(5, {.any_batch = true}));
  task_.device_list = {{.memory_bytes = task_.memory_bytes, .base_ms = 1.5},
                       {.memory_bytes = task_.memory_bytes, .speed = 3.0},
                       {.memory_bytes = task_.memory_bytes, .base_ms = 0.25, .speed = 0.5}};
  // Table 0 on every device, 1 to 4 on one each; or all on every one.
  std::vector<TableSlice> slices = whole_tables(task_);
  slices.erase(slices.begin());
  const Plan some{.slices = std::move(slices), .shards = {{0, 3}, {1}, {2}}, .replicas = {0}};
  const Plan all{.slices = {}, .shards = {{}, {}, {}}, .replicas = {0, 1, 2, 3, 4}};
  for (const Plan& plan : {some, all}) {
    SCOPED_TRACE(plan.slices.size());
    const PlanExplanation explained = explain(*backend, task_, plan);
    for (const std::size_t device : {std::size_t{0}, std::size_t{2}}) {
      Task without = task_;
      without.device_list[device].base_ms = 0.0;
      const PlanCost expected = simulate(*backend, without, plan);
      EXPECT_EQ(explained.devices[device].without_base->plan_ms, expected.cost_ms);
      EXPECT_EQ(explained.devices[device].without_base->device_ms,
                expected.devices[device].total_ms());
    }
    Task without = task_;
    without.device_list[2].speed = 1.0;
    EXPECT_NEAR(explained.devices[2].at_full_speed->plan_ms,
                simulate(*backend, without, plan).cost_ms, 1e-9);
  }
}

TEST_F(Explanation, WholeTablesGoWhereRulesAndRoomLetThem) {
  for (Table& table : task_.tables) table.rules.devices = {1, 2};
  task_.device_list.assign(3, {.memory_bytes = task_.memory_bytes});
  task_.device_list[1].base_bytes = task_.memory_bytes;
  const PlanExplanation explained = explain(*backend_, task_, cut_plan());
  ASSERT_FALSE(explained.cuts.empty());
  for (const CutExplanation& cut : explained.cuts) EXPECT_EQ(cut.whole_device, 2);
}

TEST_F(Explanation, KnowsWhereAWholeTableHasNoRoom) {
  task_.memory_bytes = 1;
  const PlanExplanation explained = explain(*backend_, task_, cut_plan());
  ASSERT_FALSE(explained.cuts.empty());
  for (const CutExplanation& cut : explained.cuts) {
    EXPECT_FALSE(cut.whole);
    EXPECT_EQ(cut.whole_device, -1);
  }
}

TEST_F(Explanation, JoinsRowBlocksOfTheSameColumns) {
  // Table 0 in four row blocks, on devices 0 and 1, and nothing else that is cut.
  Plan plan{.slices = whole_tables(task_), .shards = {{0, 5, 1}, {6, 7, 2}, {3, 4}}};
  plan.slices[0].rows = 250;
  for (int block = 1; block < 4; ++block) plan.slices.push_back({0, 0, 32, 250 * block, 250});
  task_.tables[0].pooling_factor = 200.0;  // So that one of the two decides.
  const PlanExplanation explained = explain(*backend_, task_, plan);
  ASSERT_EQ(explained.cuts.size(), explained.deciding == 2 ? 0U : 1U);
  if (explained.cuts.empty()) return;
  const auto deciding = static_cast<std::size_t>(explained.deciding);
  Slices joined = slices_by_device(plan);
  std::erase_if(joined[deciding], [](const TableSlice& slice) { return slice.table == 0; });
  joined[deciding].push_back({0, 0, 32, 0, 500});
  ASSERT_TRUE(explained.cuts[0].merged);
  EXPECT_EQ(explained.cuts[0].merged->plan_ms, cost_of_slices(*backend_, task_, joined).cost_ms);
  EXPECT_EQ(explained.cuts[0].slices, 4);
}

/// Its device fails once it has priced the plan and summed it up.
class FailingBackend final : public ForwardingBackend {
 public:
  explicit FailingBackend(const Backend& cpu) : ForwardingBackend(cpu) {}

  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override {
    if (++scored_ > 2) throw Error("the device failed", ErrorKind::kBackend);
    inner().score_shards(embeddings, shards, cost_ms);
  }

 private:
  mutable int scored_ = 0;
};

TEST_F(Explanation, SaysThatADeviceFailed) {
  const FailingBackend failing(*backend_);
  EXPECT_THROW((void)explain(failing, task_, cut_plan()), Error);
}

TEST_F(Explanation, RejectsPlansOfOtherTasks) {
  EXPECT_THROW(
      (void)explain(*backend_, task_, {.slices = whole_tables(task_), .shards = {{0}, {1}, {2}}}),
      Error);
}

}  // namespace
}  // namespace neuroshard
