// Reasons that look beyond halves of columns: who is to blame where some tables are sharded in
// other ways.
#include "search/infeasibility/sharding_means.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "search/equal_tables.h"

namespace neuroshard {
namespace {

using enum ShardingKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string reason(const Task& task) {
  const Planner planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
  const PlanResult result = planner.plan(task);
  return result.infeasible ? result.infeasible->message : "a plan";
}

TEST(ShardingMeans, TablesThatFitNowhereAreBlamedAndNotThoseBesideThem) {
  Task task{.devices = 4, .memory_bytes = 1'000'000};
  task.tables = testing::equal_tables(2, 50'000, 16);  // 3.2 MB each.
  task.tables[0].rows = 60;
  task.tables[1].name = "large";
  for (const ShardingKind kind : {kReplicate, kRow}) {
    SCOPED_TRACE(static_cast<int>(kind));
    task.tables[0].rules.kinds = {kind};
    const auto reason_with = [&](const TableRules& rules) {
      task.tables[1].rules = rules;
      return reason(task);
    };
    const auto blames = [](const std::string& what) {
      return AllOf(HasSubstr("table 1 ('large') " + what), Not(HasSubstr("'t0'")));
    };
    EXPECT_THAT(reason_with({.devices = {2}}),
                blames("may by its rules only go to device 2 and needs 3.05 MiB"));
    EXPECT_THAT(reason_with({.no_split = true}), blames("needs 3.05 MiB on one device even when"));
    EXPECT_THAT(reason_with({.max_slices = 2}), blames("needs 1.53 MiB on one device even when"));
    task.tables[1].rules = {};
    task.tables[1].rows = 80'000;
    EXPECT_THAT(reason(task), HasSubstr("hold 3.81 MiB: 1.07 MiB are short"));
    task.tables[1].rows = 50'000;
    // The others would have room if they were alone.
    EXPECT_EQ(reason(task), "a plan");
    task.tables[0].rows = 7000;
    if (kind == kReplicate) {
      EXPECT_THAT(reason(task), HasSubstr("table 0 ('t0') must by its rule kinds be replicated"));
    }
    task.tables[0].rows = 60;
  }
}

TEST(ShardingMeans, TooFewSlicesAreTheReasonHoweverManyRulesAllow) {
  Task task{.devices = 24, .memory_bytes = 1'000'000};
  task.tables = testing::equal_tables(1, 20'000, 256);  // 20.5 MB.
  const std::vector<std::string> needs = {"19.5 MiB", "9.77 MiB", "6.71 MiB", "4.88 MiB",
                                          "3.97 MiB", "3.36 MiB", "3.05 MiB", "2.44 MiB"};
  for (int slices = 1; slices <= 8; ++slices) {
    task.tables[0].rules.max_slices = slices;
    EXPECT_THAT(reason(task),
                HasSubstr("table 0 ('t0') needs " + needs[static_cast<std::size_t>(slices - 1)] +
                          " on one device even when split into columns of dim " +
                          std::to_string(4 * ((64 + slices - 1) / slices)) +
                          " (rules: max_slices " + std::to_string(slices) + ")"));
  }
  task.tables[0].rules.max_slices = 23;
  EXPECT_EQ(reason(task), "a plan");
}

}  // namespace
}  // namespace neuroshard
