#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "temporary_folder.h"
#include "tools/run_command.h"
#include "weights/files/read_file.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> first_task(std::vector<std::string> more) {
  const std::vector<std::string> task = {"--tables",   golden("tables/table_configs.json"),
                                         "--tasks",    golden("tasks/4gpu_dim64.txt"),
                                         "--index",    "0",
                                         "--memory-gb"};
  more.insert(more.begin(), task.begin(), task.end());
  return more;
}

Outcome groups_of(std::vector<std::string> more, const char* memory_gb = "4") {
  const std::vector<std::string> first = {memory_gb, "--devices", "8",   "--devices-per-node",
                                          "4",       "--effort",  "fast"};
  more.insert(more.begin(), first.begin(), first.end());
  return run_command("groups", first_task(std::move(more)));
}

/// Options of a group tell other commands of it.
void expect_priced_alike(const json& group, const std::string& plan, const char* memory_gb = "4") {
  std::vector<std::string> args = {memory_gb};
  std::istringstream words(group["options"].get<std::string>());
  for (std::string word; words >> word;) args.push_back(word);
  args.insert(args.end(), {"--plan", plan, "--format", "json"});
  const Outcome priced = run_command("simulate", first_task(args));
  ASSERT_EQ(priced.code, kExitOk) << priced.err;
  EXPECT_EQ(json::parse(priced.out)["cost_ms"], group["iteration_ms"]);
}

TEST(GroupsCommand, OptionsTellLevelsOfLinks) {
  const TemporaryFolder folder;
  const std::string plan = folder / "plan.json";
  const Outcome outcome = groups_of({"--sizes", "4", "--layouts", "interleaved", "--link-levels",
                                     "4:5", "--touched-rows", "--average-every", "100", "--format",
                                     "json", "--plan-output", plan});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json group = json::parse(outcome.out)["groups"][0];
  EXPECT_THAT(group["options"].get<std::string>(), HasSubstr("--link-levels 2:5"));
  expect_priced_alike(group, plan);
}

TEST(GroupsCommand, OptionsTellTheHostMemoryOfAGroup) {
  const TemporaryFolder folder;
  const std::string plan = folder / "plan.json";
  const Outcome outcome = groups_of(
      {"--sizes", "2", "--batch-size", "65536", "--host-memory",
       "node_gb=12,link_gb_s=25,policy=static", "--format", "json", "--plan-output", plan},
      "0.4");
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json group = json::parse(outcome.out)["groups"][0];
  EXPECT_THAT(group["options"].get<std::string>(),
              HasSubstr("--host-memory node_gb=6,link_gb_s=25,policy=static"));
  expect_priced_alike(group, plan, "0.4");
}

TEST(GroupsCommand, WritesSizesAChartAndAPlanThatIsPricedAlike) {
  const TemporaryFolder folder;
  const std::string plan = folder / "plan.json";
  const std::string chart = folder / "groups.svg";
  const Outcome outcome = groups_of({"--sizes", "2,4", "--average-every", "100", "--format", "json",
                                     "--svg", chart, "--plan-output", plan});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["format"], "neuroshard.groups");
  ASSERT_EQ(document["groups"].size(), 4U);
  const json& best = document["groups"][document["best"].get<std::size_t>()];
  for (const json& group : document["groups"]) {
    EXPECT_LE(best["cost_ms"], group["cost_ms"]);
    EXPECT_DOUBLE_EQ(
        group["cost_ms"].get<double>(),
        group["iteration_ms"].get<double>() + group["averaging_ms"].get<double>() / 100.0);
  }
  EXPECT_THAT(read_file(chart), HasSubstr("interleaved, not averaged"));
  expect_priced_alike(best, plan);
}

TEST(GroupsCommand, ShowsATable) {
  const Outcome outcome = groups_of({"--layouts", "consecutive"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("averaging ms"));
  EXPECT_THAT(outcome.out, HasSubstr("cheapest"));
  EXPECT_THAT(outcome.out, HasSubstr("--batch-size"));
  EXPECT_THAT(outcome.out, HasSubstr("buffers count"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("interleaved")));
  EXPECT_EQ(lines_of(groups_of({"--sizes", "4", "--format", "jsonl"}).out).size(), 2U);
}

TEST(GroupsCommand, SaysThatNoOptionListsDevices) {
  const TemporaryFolder folder;
  const std::string task = folder.write("task.json", R"({"format": "neuroshard.task", "version": 1,
    "devices": [{}, {"speed": 2}, {}, {"speed": 2}], "memory_gb": 4,
    "tables": [{"row": 100000, "dim": 64, "pooling_factor": 5}]})");
  const Outcome outcome =
      run_command("groups", {"--task", task, "--sizes", "2", "--layouts", "consecutive"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no option lists devices"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("--devices")));
}

TEST(GroupsCommand, SaysWhatCannotBe) {
  const auto error_of = [&](std::vector<std::string> more) {
    const Outcome outcome = groups_of(std::move(more));
    EXPECT_EQ(outcome.code, kExitBadInput);
    return outcome.err;
  };
  EXPECT_THAT(error_of({"--sizes", "3"}), HasSubstr("do not divide the 8"));
  EXPECT_THAT(error_of({"--layouts", "next"}), HasSubstr("consecutive, interleaved"));
  EXPECT_THAT(error_of({"--average-every", "0"}), HasSubstr("--average-every"));
  EXPECT_THAT(error_of({"--average-every", "9", "--average-share", "0.1"}), HasSubstr("exclude"));
  const Outcome none = groups_of({"--sizes", "4"}, "0.01");
  EXPECT_EQ(none.code, kExitInfeasible);
  EXPECT_THAT(none.err, HasSubstr("no size of groups has one"));
}

}  // namespace
}  // namespace neuroshard::tools
