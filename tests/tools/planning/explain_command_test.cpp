#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ExplainCommand, AgreesWithSimulate) {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  ASSERT_EQ(run_command("plan", golden_tasks({"--index", "1", "--format", "json", "--effort",
                                              "fast", "--output", file}))
                .code,
            kExitOk);
  const std::vector<std::string> args =
      golden_tasks({"--index", "1", "--plan", file, "--format", "json"});
  const Outcome outcome = run_command("explain", args);
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json explained = json::parse(outcome.out);
  const json simulated = json::parse(run_command("simulate", args).out);
  EXPECT_EQ(explained["cost_ms"], simulated["cost_ms"]);
  ASSERT_EQ(explained["devices"].size(), simulated["devices"].size());
  for (std::size_t device = 0; device < explained["devices"].size(); ++device) {
    const json& why = explained["devices"][device];
    const json& priced = simulated["devices"][device];
    EXPECT_EQ(why["total_ms"], priced["cost"]["total_ms"]);
    ASSERT_EQ(why["slices"].size(), priced["shard"].size());
    for (std::size_t i = 0; i < why["slices"].size(); ++i) {
      for (const char* field : {"slice", "table", "name", "first_column", "dim"}) {
        EXPECT_EQ(why["slices"][i][field], priced["shard"][i][field]);
      }
      EXPECT_GT(why["slices"][i]["without"]["plan_ms"].get<double>(), 0.0);
    }
  }
  const auto deciding = explained["deciding_device"].get<std::size_t>();
  const json& dearest = explained["devices"][explained["devices_by_cost"][0].get<std::size_t>()];
  EXPECT_NEAR(dearest["total_ms"].get<double>(), explained["cost_ms"].get<double>(), 1e-6);
  const auto own_ms = [](const json& device) {
    return device["total_ms"].get<double>() - device["wait_ms"].get<double>();
  };
  for (const json& device : explained["devices"]) {
    EXPECT_LE(own_ms(device), own_ms(explained["devices"][deciding]));
  }
}

TEST(ExplainCommand, NamesTheDeviceThatOthersWaitForAndItsBaseLoad) {
  const TemporaryFolder folder;
  const std::string task = folder / "late.json";
  json tables = json::array();
  for (int i = 0; i < 6; ++i) {
    tables.push_back({{"row", 1000000},
                      {"dim", 64},
                      {"pooling_factor", 10},
                      {"rules", {{"kinds", {"table", "column"}}}}});
  }
  const json late = {{"format", "neuroshard.task"},
                     {"version", 1},
                     {"devices", {json::object(), {{"base_ms", 4}}, json::object()}},
                     {"memory_gb", 4},
                     {"tables", tables}};
  std::ofstream(task) << late;
  const std::vector<std::string> args = {"--task", task, "--effort", "fast"};
  const Outcome page = run_command("explain", args);
  ASSERT_EQ(page.code, kExitOk) << page.err;
  EXPECT_THAT(page.out, HasSubstr("set by device 1"));
  EXPECT_THAT(page.out, HasSubstr("base load"));
  const Outcome planned = run_command("plan", args);
  EXPECT_THAT(planned.out, HasSubstr("set by device 1;"));
  const json explained = json::parse(
      run_command("explain", {"--task", task, "--effort", "fast", "--format", "json"}).out);
  EXPECT_EQ(explained["deciding_device"], 1);
  const json& device = explained["devices"][1];
  EXPECT_EQ(device["wait_ms"], 0.0);
  EXPECT_EQ(device["base_ms"], 4.0);
  EXPECT_LT(device["without_base"]["plan_ms"].get<double>(),
            explained["cost_ms"].get<double>() - 2.0);
  EXPECT_GT(explained["devices"][0]["wait_ms"].get<double>(), 2.0);
}

TEST(ExplainCommand, SaysWhatRulesCost) {
  const TemporaryFolder folder;
  json task = {{"format", "neuroshard.task"},
               {"version", 1},
               {"devices", 2},
               {"memory_gb", 1},
               {"tables", json::array()},
               {"groups", {{{"keep", "together"}, {"tables", {"a", "b"}}, {"name", "pair"}}}}};
  for (const char* name : {"a", "b", "c"}) {
    task["tables"].push_back({{"name", name},
                              {"row", 1000000},
                              {"dim", 64},
                              {"pooling_factor", 10},
                              {"rules", {{"kinds", {"table"}}}}});
  }
  const std::string file = folder.write("ruled.json", task.dump());
  const auto explain = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--task", file, "--effort", "fast"});
    return run_command("explain", more);
  };
  EXPECT_THAT(explain({}).out, Not(HasSubstr("Rules")));
  const Outcome page = explain({"--rules"});
  ASSERT_EQ(page.code, kExitOk) << page.err;
  EXPECT_THAT(page.out, HasSubstr("Rules, and what a plan costs without each; with all of them "));
  EXPECT_THAT(page.out, HasSubstr("table 2 ('c'): kinds table"));
  const json explained = json::parse(explain({"--rules", "--format", "json"}).out);
  const json& rules = explained["rules"];
  EXPECT_EQ(rules["with_ms"], explained["cost_ms"]);
  ASSERT_EQ(rules["without"].size(), 4U);
  EXPECT_EQ(rules["without"][0]["rule"], "kinds");
  EXPECT_EQ(rules["without"][0]["table"], 0);
  EXPECT_EQ(rules["without"][0]["name"], "a");
  EXPECT_EQ(rules["without"][3]["rule"], "together");
  EXPECT_EQ(rules["without"][3]["group"], 0);
  for (const json& rule : rules["without"]) {
    EXPECT_NEAR(rule["costs_ms"].get<double>(),
                rules["with_ms"].get<double>() - rule["without_ms"].get<double>(), 1e-12);
  }

  // Without room for two tables on a device, only without the group is there a plan.
  const Outcome none =
      explain({"--rules", "--memory-gb", "0.3", "--format", "json", "--devices", "3"});
  EXPECT_EQ(none.code, kExitInfeasible);
  const json document = json::parse(none.out);
  EXPECT_THAT(document["error"]["message"].get<std::string>(), HasSubstr("groups keep 2 tables"));
  EXPECT_FALSE(document["rules"].contains("with_ms"));
  EXPECT_FALSE(document["rules"]["without"][0].contains("without_ms"));
  EXPECT_FALSE(document["rules"]["without"][0].contains("costs_ms"));
  EXPECT_TRUE(document["rules"]["without"][3].contains("without_ms"));
  const Outcome no_plan = explain({"--rules", "--memory-gb", "0.3", "--devices", "3"});
  EXPECT_EQ(no_plan.code, kExitInfeasible);
  EXPECT_THAT(no_plan.out, HasSubstr("a plan\n"));
  EXPECT_THAT(no_plan.out, ContainsRegex("table 0 \\('a'\\): kinds table +no plan +-\n"));
}

TEST(ExplainCommand, PlansWhereNoPlanIsGiven) {
  const Outcome outcome =
      run_command("explain", golden_tasks({"--index", "0", "--effort", "fast"}));
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("per iteration of [0-9,]+ samples, set by device"));
  EXPECT_THAT(outcome.out, HasSubstr("Costs without one of the slices of device"));
}

TEST(ExplainCommand, ExplainsOneTask) {
  const Outcome outcome = run_command("explain", golden_tasks({}));
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("pick one with --index"));
}

TEST(ExplainCommand, SaysThatThereIsNoPlan) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_command("explain", first_tasks(folder, 0, {"--effort", "fast"}, kImpossibleTask));
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_THAT(outcome.err, HasSubstr("no plan: "));
}

}  // namespace
}  // namespace neuroshard::tools
