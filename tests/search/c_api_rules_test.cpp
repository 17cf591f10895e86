// Rules and groups of a task's JSON, through the C interface: plans keep them, checks name those
// that a plan breaks, and contradictions are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/c_api.h"
#include "search/c_api_handles.h"

namespace neuroshard::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::size_t kTables = 6;

constexpr std::string_view kGroups = R"("groups": [
    {"name": "user", "keep": "together", "tables": ["id", "age", 2]},
    {"name": "regions", "keep": "apart", "tables": ["eu", "us"]}],)";

/// Six tables on three devices. `more`: fields of the task, each with a comma behind; `rules`: of
/// the last table.
std::string task_text(std::string_view more, std::string_view rules = "{}") {
  return std::string(
             R"({"format": "neuroshard.task", "version": 1, "devices": 3, "memory_gb": 1,)") +
         std::string(more) + R"("tables": [
    {"name": "id", "row": 900000, "dim": 64, "pooling_factor": 20},
    {"name": "age", "row": 800000, "dim": 64, "pooling_factor": 18},
    {"name": "town", "row": 700000, "dim": 64, "pooling_factor": 16},
    {"name": "eu", "row": 600000, "dim": 32, "pooling_factor": 9},
    {"name": "us", "row": 500000, "dim": 32, "pooling_factor": 8},
    {"name": "item", "row": 400000, "dim": 128, "pooling_factor": 7, "rules": )" +
         std::string(rules) + "}]}";
}

/// [tables]: the devices that hold something of each.
std::vector<std::set<std::int32_t>> devices_of_tables(const Handle<ns_plan>& plan) {
  std::vector<std::set<std::int32_t>> devices(kTables);
  for (const ns_block& block : all_of(ns_plan_get_blocks, plan)) {
    devices.at(static_cast<std::size_t>(block.table)).insert(block.device);
  }
  for (const std::int32_t table : all_of(ns_plan_get_replicas, plan)) {
    devices.at(static_cast<std::size_t>(table)) = {0, 1, 2};
  }
  return devices;
}

void expect_groups_kept(const Handle<ns_plan>& plan) {
  const auto devices = devices_of_tables(plan);
  EXPECT_THAT(devices[0], SizeIs(1));
  EXPECT_EQ(devices[1], devices[0]);
  EXPECT_EQ(devices[2], devices[0]);
  for (const std::int32_t device : devices[3]) EXPECT_FALSE(devices[4].contains(device));
}

/// By whatever takes a task that must be valid: a task is complete only then.
void expect_refused(const std::string& text, const std::string& why) {
  const auto task = task_from(text);
  const auto planner = new_planner();
  EXPECT_EQ(plan_of(planner, task, {}, NS_INVALID_INPUT), nullptr);
  EXPECT_THAT(ns_last_error(), HasSubstr(why));
  const std::string_view json = R"({"shards": [[0, 1, 2], [3, 5], [4]]})";
  ns_plan* priced = nullptr;
  EXPECT_EQ(ns_planner_simulate(planner.get(), task.get(), json.data(), json.size(), &priced),
            NS_INVALID_INPUT);
  EXPECT_EQ(priced, nullptr);
  EXPECT_EQ(ns_task_check_plan(task.get(), json.data(), json.size()), NS_INVALID_INPUT);
  std::uint64_t fingerprint = 0;
  EXPECT_EQ(ns_planner_fingerprint(planner.get(), task.get(), &fingerprint), NS_INVALID_INPUT);
  EXPECT_THAT(ns_last_error(), HasSubstr(why));
}

TEST(CApiRules, PlansKeepGroups) {
  const auto task = task_from(task_text(kGroups));
  for (const char* cuts : {"columns", "any", "torchrec"}) {
    SCOPED_TRACE(cuts);
    const auto planner = new_planner(with(&ns_planner_options::cuts, cuts));
    expect_groups_kept(plan_of(planner, task));
    expect_groups_kept(plan_of(planner, task, with(&ns_plan_options::deadline_ms, 1e6)));
  }
}

// Without groups, the heavy tables are spread over devices: re-planning has to bring them together.
TEST(CApiRules, ReplanningBringsGroupsAbout) {
  const auto planner = new_planner();
  const auto running = plan_of(planner, task_from(task_text("")));
  const auto devices = devices_of_tables(running);
  EXPECT_FALSE(devices[0] == devices[1] && devices[1] == devices[2]);
  ns_plan* plan = nullptr;
  ASSERT_EQ(ns_planner_replan(planner.get(), running.get(), task_from(task_text(kGroups)).get(),
                              nullptr, &plan),
            NS_OK)
      << ns_last_error();
  expect_groups_kept(Handle<ns_plan>(plan));
}

TEST(CApiRules, ChecksNameTheGroupsThatAPlanBreaks) {
  const auto task = task_from(task_text(kGroups));
  const auto problems_of = [&](std::string_view plan) {
    char* problems = nullptr;
    EXPECT_EQ(ns_task_list_problems(task.get(), plan.data(), plan.size(), &problems), NS_OK)
        << ns_last_error();
    return std::string(Handle<char>(problems).get());
  };
  const std::string_view good = R"({"shards": [[0, 1, 2], [3, 5], [4]]})";
  EXPECT_EQ(problems_of(good), "[]");
  EXPECT_EQ(ns_task_check_plan(task.get(), good.data(), good.size()), NS_OK);

  const std::string_view bad = R"({"shards": [[0, 1], [2, 5], [3, 4]]})";
  EXPECT_THAT(
      problems_of(bad),
      AllOf(HasSubstr("group 0 ('user'): keeps its tables together, but they are on 2 "),
            HasSubstr("group 1 ('regions'): keeps its tables apart, but device 2 holds 2 ")));
  EXPECT_EQ(ns_task_check_plan(task.get(), bad.data(), bad.size()), NS_INFEASIBLE);
  EXPECT_THAT(ns_last_error(), HasSubstr("group 0 ('user')"));
  // A plan that rules forbid has a price all the same.
  ns_plan* priced = nullptr;
  EXPECT_EQ(ns_planner_simulate(new_planner().get(), task.get(), bad.data(), bad.size(), &priced),
            NS_OK);
  EXPECT_GT(summary_of(Handle<ns_plan>(priced)).cost_ms, 0.0);
}

TEST(CApiRules, GroupsThatContradictEachOtherAreRefusedByName) {
  const std::string text = task_text(R"("groups": [
    {"name": "user", "keep": "together", "tables": ["id", "age"]},
    {"name": "shared", "keep": "together", "tables": ["age", "eu"]},
    {"name": "regions", "keep": "apart", "tables": ["us", "eu", "id"]}],)");
  expect_refused(text,
                 "group 1 ('shared') and group 0 ('user') keep table 3 ('eu') and table 0 ('id') "
                 "together, but group 2 ('regions') keeps them apart");
}

TEST(CApiRules, GroupsWithoutAPlanSayWhy) {
  const auto task = task_from(task_text(R"("groups": [
    {"name": "all", "keep": "apart", "tables": ["id", "age", "town", "eu"]}],)"));
  const auto plan = plan_of(new_planner(), task, {}, NS_INFEASIBLE);
  EXPECT_THAT(ns_last_error(), HasSubstr("group 0 ('all') keeps 4 tables apart"));
  ns_infeasibility why{};
  why.size = sizeof why;
  ASSERT_EQ(ns_plan_get_infeasibility(plan.get(), &why), NS_OK);
  EXPECT_STREQ(why.kind, "rules");
  // Four devices are enough.
  ASSERT_EQ(ns_task_set_devices(task.get(), 4), NS_OK);
  EXPECT_EQ(summary_of(plan_of(new_planner(), task)).devices, 4);
}

TEST(CApiRules, PlansKeepRulesOfTables) {
  const auto planner = new_planner();
  EXPECT_EQ(devices_of_tables(plan_of(planner, task_from(task_text("", R"({"devices": [2]})"))))[5],
            std::set<std::int32_t>{2});
  EXPECT_THAT(
      devices_of_tables(plan_of(planner, task_from(task_text("", R"({"no_split": true})"))))[5],
      SizeIs(1));
  const auto by_rows = task_from(task_text("", R"({"kinds": ["row"]})"));
  const auto any = new_planner(with(&ns_planner_options::cuts, "any"));
  EXPECT_THAT(devices_of_tables(plan_of(any, by_rows))[5], SizeIs(3));
  (void)plan_of(planner, by_rows, {}, NS_INFEASIBLE);
  EXPECT_THAT(ns_last_error(), HasSubstr("table 5 ('item')"));

  const std::string contradiction = task_text("", R"({"devices": [1], "not_devices": [1]})");
  expect_refused(contradiction, "table 5 ('item')");
}

}  // namespace
}  // namespace neuroshard::testing
