// Tables that rules send to too little memory, with all sets of devices as the judge.
#include "search/infeasibility/rule_proofs.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/tables/table_rules.h"
#include "neuroshard/planner.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/equal_tables.h"
#include "search/quick_planners.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using ::testing::HasSubstr;

/// Up to nine tables on four or five devices that differ; most may only go to two of the first
/// three, or to one.
Task random_task_with_device_rules(std::uint64_t seed) {
  Random random(seed, 47);
  Task task;
  task.devices = 4 + static_cast<int>(random.below(2));
  task.tables = testing::equal_tables(2 + static_cast<int>(random.below(8)), 1000, 16);
  for (Table& table : task.tables) {
    table.rows += static_cast<std::int64_t>(random.below(3000));
    const auto device = [&] { return static_cast<int>(random.below(3)); };
    if (random.below(4) > 0) table.rules.devices = {device(), device()};
  }
  const double share = 1.4 * static_cast<double>(total_bytes(task)) / task.devices;
  for (int d = 0; d < task.devices; ++d) {
    task.device_list.push_back(
        {.memory_bytes = 1 + static_cast<std::int64_t>(share * (0.8 + 0.4 * random.uniform()))});
  }
  return task;
}

/// Whether all tables that may only go to some devices take more than these hold.
bool some_devices_are_too_small(const Task& task) {
  for (std::size_t set = 1; set < std::size_t{1} << task.devices; ++set) {
    std::int64_t room = 0;
    for (std::size_t d = 0; d < task.device_list.size(); ++d) {
      if ((set >> d & 1U) != 0) room += task.device_list[d].memory_bytes;
    }
    std::int64_t bytes = 0;
    for (const Table& table : task.tables) {
      const DeviceSet allowed = allowed_set(table.rules, task);
      bool inside = true;
      for (std::size_t d = 0; std::cmp_less(d, task.devices); ++d) {
        inside &= !allowed.contains(d) || (set >> d & 1U) != 0;
      }
      if (inside) bytes += table.size_bytes();
    }
    if (bytes > room) return true;
  }
  return false;
}

TEST(RuleProofs, FindDevicesThatAreTooSmallIfThereAreAny) {
  int proven = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(3000))) {
    const Task task = random_task_with_device_rules(seed);
    const StopCondition never;
    StepBudget budget(StepBudget::kAnySteps, never);
    const auto proof = proof_by_rules(task, budget);
    EXPECT_EQ(proof.has_value(), any_limits_devices(task) && some_devices_are_too_small(task));
    proven += proof ? 1 : 0;
  }
  EXPECT_GT(proven, static_cast<int>(drawn_tasks(3000)) / 10);
}

TEST(RuleProofs, AreTheReasonThatAPlanIsDenied) {
  Task task{.devices = 4, .memory_bytes = 700'000};
  task.tables = testing::equal_tables(4, 10'000, 16);  // 640 kB each.
  task.tables[0].rules.devices = {0, 1};
  task.tables[1].rules.devices = {1, 2};
  task.tables[2].rules.devices = {0, 2};
  task.tables[3].rules.devices = {0, 1};
  task.tables[0].rows = 10'001;
  task.tables[3].rows = 4000;
  for (const Planner& planner : testing::quick_planners(testing::random_models(8))) {
    const PlanResult result = planner.plan(task);
    ASSERT_TRUE(result.infeasible);
    EXPECT_EQ(result.infeasible->kind, Infeasibility::Kind::kRules);
    EXPECT_THAT(result.infeasible->message,
                HasSubstr("4 tables, the largest of which is table 0 ('t0'), may by their rules "
                          "only go to devices 0 to 2 and need 2.08 MiB, but these hold 2.00 MiB"));
  }
}

}  // namespace
}  // namespace neuroshard
