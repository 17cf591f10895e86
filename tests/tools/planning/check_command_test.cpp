#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kToy = R"({"format": "neuroshard.task", "version": 1, "name": "toy",
  "devices": 2, "memory_gb": 1, "tables": [
    {"name": "a", "row": 1000, "dim": 32, "pooling_factor": 1},
    {"name": "b", "row": 1000, "dim": 8, "pooling_factor": 1}]})";

Outcome check(const std::string& plan, std::vector<std::string> more = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> args = {"--task", folder.write("task.json", kToy), "--plan",
                                   folder.write("plan.json", plan)};
  args.insert(args.end(), more.begin(), more.end());
  return run_command("check", args);
}

TEST(CheckCommand, FindsNothingWrongWithThePlanOfTheSearch) {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  ASSERT_EQ(run_command("plan", golden_tasks({"--index", "1", "--format", "json", "--effort",
                                              "fast", "--output", file}))
                .code,
            kExitOk);
  const Outcome outcome = run_command("check", golden_tasks({"--index", "1", "--plan", file}));
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no problems"));
}

TEST(CheckCommand, ListsAllProblems) {
  const Outcome outcome = check(R"({"tables": 3, "steps": [5], "shards": [[0, 0]]})");
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_EQ(
      outcome.out,
      "toy: 5 problems\n"
      "  task: is a plan for 3 tables; the task has 2; give the task that the plan was made "
      "for\n"
      "  split: column split 0: there is no slice 5; there are 2\n"
      "  devices: is a plan of 1 device for a task of 2; give the task that it was made for, or "
      "plan anew\n"
      "  slice: shard 0: slice 0 is already in shard 0; place each slice once\n"
      "  slice: slice 1 is on no device; place each slice once\n");
}

TEST(CheckCommand, ListsWhatCannotBeReadWithTheOthers) {
  const Outcome outcome = check(R"({"format": "neuroshard.plan", "version": 2, "replicas": [-1],
    "devices": [
      {"device": 1, "shard": [
        {"slice": 0, "table": 7, "first_column": 0, "dim": 8, "first_row": 0, "rows": 1000},
        {"slice": 1, "table": 0, "first_column": -4, "dim": 32, "first_row": 0, "rows": 1000},
        {"slice": "x", "table": 0, "first_column": 0, "dim": 32, "first_row": 0, "rows": 1000}]},
      {"device": 1, "shard": 3},
      {"device": 2, "shard": [
        {"slice": 4, "table": 1, "first_column": 0, "dim": 8, "first_row": 0, "rows": 1e30}]}]})");
  EXPECT_EQ(outcome.code, kExitInfeasible) << outcome.err;
  for (const char* problem :
       {"  devices: devices: entry 0 is device 1; list all devices in order: 0, 1, ...\n",
        "  slice: device 0: shard: entry 2: slice is \"x\"; give an integer between 0 and ",
        "  devices: device 1: shard is 3; ", "  slice: device 2: shard: entry 0: rows is ",
        "  slice: replicates table -1; the task has tables 0 to 1\n",
        "  slice: slice 0 is of table 7; the task has tables 0 to 1\n",
        "  slice: slice 1 begins at column -4 and has 32 of table 0, which has 32; ",
        "  devices: is a plan of 3 devices for a task of 2; "}) {
    EXPECT_THAT(outcome.out, HasSubstr(problem));
  }
  const Outcome json_too =
      check(R"({"shards": [[0, "a"], 7], "steps": [null, 0]})", {"--format", "json"});
  EXPECT_EQ(json_too.code, kExitInfeasible) << json_too.err;
  const json problems = json::parse(json_too.out)["problems"];
  EXPECT_EQ(problems[0]["kind"], "split");
  EXPECT_EQ(problems[1]["kind"], "slice");
  EXPECT_EQ(problems[2]["kind"], "devices");
  EXPECT_EQ(problems[2]["device"], 1);
}

TEST(CheckCommand, NumbersSlicesAnewThatAreMisnumbered) {
  const auto slice = [](int index, int table, int first_column, int dim) {
    return json{{"slice", index}, {"table", table}, {"first_column", first_column},
                {"dim", dim},     {"first_row", 0}, {"rows", 1000}};
  };
  const auto plan = [&](int index_of_b, int index_of_rest) {
    const json file = {
        {"format", "neuroshard.plan"},
        {"version", 2},
        {"devices",
         {{{"device", 0}, {"shard", {slice(0, 0, 0, 16), slice(index_of_b, 1, 0, 8)}}},
          {{"device", 1}, {"shard", {slice(index_of_rest, 0, 16, 16)}}}}}};
    return file.dump();
  };
  EXPECT_THAT(check(plan(1, 2)).out, HasSubstr("no problems"));
  EXPECT_EQ(check(plan(5, 2)).out,
            "toy: 1 problem\n  slice: devices: no slice has index 1, but there is one with 2; "
            "number the slices 0, 1, ...\n");
  EXPECT_EQ(check(plan(0, 1)).out,
            "toy: 1 problem\n  slice: devices: two different slices have index 0; number the "
            "slices 0, 1, ...\n");
}

TEST(CheckCommand, WritesJson) {
  const Outcome outcome =
      check(R"({"shards": [[0, 1], [1]]})", {"--format", "json", "--memory-gb", "0.0001"});
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_EQ(json::parse(outcome.out), json::parse(R"({"task": 0, "has_plan": true, "problems": [
    {"kind": "slice", "device": 1, "slice": 1, "table": 1, "name": "b",
     "what": "shard 1: slice 1 is already in shard 0", "remedy": "place each slice once"},
    {"kind": "memory", "device": 0,
     "what": "device 0 needs 156 KiB, 51.4 KiB more than it has room for",
     "remedy": "move slices to other devices, or give more memory"}]})"));
}

TEST(CheckCommand, SaysWhatADocumentClaimsWrongly) {
  const Outcome outcome = check(R"({"format": "neuroshard.plan", "version": 1, "column_splits": [],
    "devices": [
      {"device": 0, "shard": [{"slice": 1, "table": 1, "first_column": 0, "dim": 4}]},
      {"device": 1, "shard": [{"slice": 1, "table": 1, "first_column": 0, "dim": 8}]}]})");
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_THAT(outcome.out, HasSubstr("3 problems"));
  EXPECT_THAT(outcome.out, HasSubstr("slice 1 is said to be columns 0 to 3 of table 1"));
  EXPECT_THAT(outcome.out, HasSubstr("shard 1: slice 1 is already in shard 0"));
  EXPECT_THAT(outcome.out, HasSubstr("slice 0 is on no device"));
}

TEST(CheckCommand, ListsTablesOfOtherNamesAmongOtherDamage) {
  const Outcome outcome = check(R"({"format": "neuroshard.plan", "version": 2, "devices": [
      {"device": 0, "shard": [
        {"slice": 0, "table": 0, "name": "b", "first_column": 0, "dim": 32, "first_row": 0,
         "rows": 500},
        {"slice": 1, "table": 0, "name": "b", "first_column": 0, "dim": 32, "first_row": 500,
         "rows": 400},
        {"slice": 2, "table": 9, "name": "z", "first_column": 0, "dim": 8, "first_row": 0,
         "rows": 1000}]},
      {"device": 1, "shard": [
        {"slice": 3, "table": 1, "name": 5, "first_column": 0, "dim": 8, "first_row": 0,
         "rows": 1000}]}]})");
  EXPECT_EQ(outcome.code, kExitInfeasible) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("4 problems"));  // Each name once.
  EXPECT_THAT(outcome.out, HasSubstr("task: slice 0 is said to be of table 0 'b', but in this task "
                                     "that is 'a'; give the task that the plan was made for"));
  EXPECT_THAT(outcome.out, HasSubstr("slice: device 1: shard: entry 0: name is 5; give a text"));
  EXPECT_THAT(outcome.out, HasSubstr("slice 2 is of table 9"));
  EXPECT_THAT(outcome.out, HasSubstr("rows 900 to 999 of table 0 are in no slice"));
}

TEST(CheckCommand, ListsWhatIsWrongWithSlices) {
  const Outcome outcome = check(R"({"slices": [[0, 0, 16, 0, 1000], [0, 12, 20, 0, 600],
    [0, 16, 16, 600, 500], [1, 0, 6, 0, 1000]], "shards": [[0, 1], [2, 3]]})");
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_EQ(outcome.out,
            "toy: 4 problems\n"
            "  slice: slice 2 begins at row 600 and has 500 of table 0, which has 1000; cut "
            "between row 0 and the last\n"
            "  slice: slice 3 has 6 columns; give a multiple of 4, 4 or more\n"
            "  slice: slice 1 (columns 12 to 31 of rows 0 to 599 of table 0) overlaps slice 0 "
            "(columns 0 to 15 of table 0); place each row and column once\n"
            "  slice: columns 6 to 7 of table 1 are in no slice; place each row and column once\n");
}

TEST(CheckCommand, PlansOfManyTasksGetALineEach) {
  const std::string plans = golden("plans/4gpu_dim64.jsonl");
  const std::size_t tasks = lines_of(contents_of(plans)).size();
  const TemporaryFolder folder;
  const Outcome outcome =
      run_command("check", first_tasks(folder, tasks, {"--plan", plans, "--format", "jsonl"}));
  EXPECT_EQ(outcome.code, kExitInfeasible);  // The published search found none for some.
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), tasks);
  for (const std::string& line : lines) EXPECT_TRUE(json::parse(line)["problems"].empty()) << line;
}

TEST(CheckCommand, AFileThatHoldsNoPlanIsBadInput) {
  const Outcome outcome = check("[]");
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("is an array; expected an object"));
}

}  // namespace
}  // namespace neuroshard::tools
