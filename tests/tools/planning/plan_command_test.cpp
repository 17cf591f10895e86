#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "neuroshard/backend.h"
#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(PlanCommand, TableHasALinePerDeviceAndTheSummary) {
  const Outcome outcome = run_command("plan", golden_tasks({"--index", "0", "--list-shards"}));
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, ContainsRegex("24 tables, .* GiB, on 4 devices of 4.00 GiB"));
  for (const char* device : {"\n     0  #+=*-*", "\n     1  #", "\n     2  #", "\n     3  #"}) {
    EXPECT_THAT(outcome.out, ContainsRegex(device));
  }
  EXPECT_THAT(
      outcome.out,
      ContainsRegex("cost     [0-9.]+ ms per iteration of [0-9,]+ samples, set by device [0-3]; "
                    "imbalance 1\\.[0-9]+"));
  EXPECT_THAT(outcome.out,
              ContainsRegex("search   [0-9.]+ ms on backend " + available_cpu_backends().front()));
  EXPECT_THAT(outcome.out, HasSubstr("weights  built-in weights"));
  EXPECT_THAT(outcome.out, HasSubstr("not measured on hardware"));
  EXPECT_THAT(outcome.out, HasSubstr("\ndevice 3: "));
  for (const std::string& line : lines_of(outcome.out)) {
    const bool has_bar = line.find('#') != std::string::npos;
    EXPECT_TRUE(!has_bar || line.size() <= 100U) << line;
  }
}

// A device has 1,000,000 rows of 64 columns, and what they need to be trained.
TEST(PlanCommand, SaysWhatMemoryIsFor) {
  const TemporaryFolder folder;
  const std::string task = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "devices": 1, "memory_gb": 2,
                       "optimizer": "rowwise_adagrad", "batch_size": 65536, "reserved_share": 0.25,
                       "tables": [{"row": 1000000, "dim": 64, "pooling_factor": 2}]})");
  const auto plan_as = [&](const char* format, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--task", task, "--format", format});
    return run_command("plan", more);
  };
  const Outcome page = plan_as("table");
  EXPECT_EQ(page.code, kExitOk) << page.err;
  EXPECT_THAT(page.out, ContainsRegex("device +weights  optimizer  +buffers  reserved  +free"));
  EXPECT_THAT(page.out, ContainsRegex("0  244 MiB   3.81 MiB  17.0 MiB   512 MiB  1.24 GiB"));
  const json memory = json::parse(plan_as("json").out)["devices"][0]["memory"];
  EXPECT_EQ(memory["weight_bytes"], 256'000'000);
  EXPECT_EQ(memory["optimizer_bytes"], 4'000'000);
  EXPECT_EQ(memory["buffer_bytes"], 65536 * (2 * 8 + 64 * 4));
  EXPECT_EQ(memory["reserved_bytes"], 1 << 29);
  EXPECT_EQ(memory["free_bytes"], (3LL << 29) - 260'000'000 - 65536 * 272);

  const Outcome changed =
      plan_as("json", {"--optimizer", "adam", "--weight-type", "int8", "--batch-size", "2000",
                       "--reserved-gb", "0.5", "--reserved-share", "0"});
  const json other = json::parse(changed.out);
  EXPECT_EQ(other["devices"][0]["memory"]["weight_bytes"], 72'000'000);
  EXPECT_EQ(other["devices"][0]["memory"]["optimizer_bytes"], 512'000'000);
  EXPECT_EQ(other["devices"][0]["memory"]["buffer_bytes"], 2000 * 272);
  EXPECT_EQ(other["devices"][0]["memory"]["reserved_bytes"], 1 << 29);
  // Costs follow the type of the weights, so that nothing has to be said of it.
  EXPECT_THAT(other["notes"].dump(), Not(HasSubstr("int8")));
  const auto compute_ms = [&](const char* type) {
    const json plan = json::parse(plan_as("json", {"--weight-type", type}).out);
    return plan["devices"][0]["cost"]["compute_ms"].get<double>();
  };
  EXPECT_LT(compute_ms("int8"), compute_ms("fp32"));

  const Outcome typo = plan_as("json", {"--optimizer", "adma"});
  EXPECT_EQ(typo.code, kExitBadInput);
  EXPECT_THAT(typo.err,
              HasSubstr("--optimizer: there is no optimizer 'adma'; did you mean 'adam'?"));
  // Without any of it the page is as short as ever.
  EXPECT_THAT(run_command("plan", golden_tasks({"--index", "0"})).out,
              ::testing::Not(HasSubstr("optimizer")));
}

// Two tables of 256,000,000 bytes that may go to the second device alone, and one of 128,000,000
// that fits no other than the first.
TEST(PlanCommand, SaysWhatEachListedDeviceHasAndKeepsRules) {
  const TemporaryFolder folder;
  const std::string task = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "reserved_share": 0.5,
                       "devices": [{"memory_gb": 0.5, "base_ms": 2.5, "base_gb": 0.125},
                                   {"memory_gb": 1}, {"count": 2, "memory_gb": 0.125, "class": "fast"}],
                       "classes": {"fast": {"speed": 1.25}},
                       "tables": [
                         {"row": 1000000, "dim": 64, "pooling_factor": 2, "rules": {"devices": [1]}},
                         {"row": 1000000, "dim": 64, "pooling_factor": 2, "rules": {"devices": [1]}},
                         {"row": 1000000, "dim": 32, "pooling_factor": 2, "rules": {"no_split": true}}
                       ]})");
  const Outcome outcome = run_command("plan", {"--task", task, "--format", "json"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  const json plan = json::parse(outcome.out);
  EXPECT_FALSE(plan["task"].contains("memory_gb"));
  const json& first = plan["devices"][0];
  EXPECT_EQ(first["of_memory_gb"], 0.5);
  EXPECT_EQ(first["base_ms"], 2.5);
  EXPECT_EQ(first["speed"], 1.0);
  EXPECT_EQ(plan["devices"][2]["speed"], 1.25);
  EXPECT_GT(first["cost"]["compute_ms"], 2.5);
  EXPECT_EQ(first["memory"]["reserved_bytes"], 1 << 28);
  EXPECT_EQ(first["memory"]["base_bytes"], 1 << 27);
  EXPECT_EQ(first["memory"]["free_bytes"], (1 << 27) - 128'000'000);
  EXPECT_EQ(plan["devices"][1]["memory"]["free_bytes"], (1 << 29) - 512'000'000);
  EXPECT_EQ(plan["devices"][3]["memory"]["free_bytes"], 1 << 26);

  const Outcome page = run_command("plan", {"--task", task});
  EXPECT_THAT(page.out,
              HasSubstr("on 4 devices of 128 MiB to 1.00 GiB and of speeds 1.00 to 1.25"));
  EXPECT_THAT(page.out, ContainsRegex("speed +base ms +base memory +of memory"));
  EXPECT_THAT(page.out, ContainsRegex("2.50* +128 MiB +512 MiB"));
  // Reserved memory and the base load: tables may take neither.
  EXPECT_THAT(page.out, ContainsRegex("0 B +384 MiB"));

  // The third table in row blocks.
  const std::string blocks = folder.write("plan.jsonl", R"({"tables": 3, "slices":
      [[0, 0, 64, 0, 1000000], [1, 0, 64, 0, 1000000], [2, 0, 32, 0, 500000], [2, 0, 32, 500000, 500000]],
      "shards": [[2], [0, 1], [3], []]})");
  const Outcome check =
      run_command("check", {"--task", task, "--plan", blocks, "--format", "json"});
  const json report = json::parse(check.out);
  std::vector<std::string> kinds;
  for (const json& problem : report["problems"]) kinds.push_back(problem["kind"]);
  EXPECT_THAT(kinds, ::testing::ElementsAre("rule"));
  EXPECT_THAT(check.out, HasSubstr("is in 2 slices, but its rule is no_split"));
}

// The widths of the slices of each table.
std::map<int, std::set<int>> widths_of(const json& plan) {
  std::map<int, std::set<int>> widths;
  for (const json& device : plan["devices"]) {
    for (const json& slice : device["shard"]) {
      widths[slice["table"].get<int>()].insert(slice["dim"].get<int>());
    }
  }
  return widths;
}

TEST(PlanCommand, NodesAreOfAsManyDevicesAsAsked) {
  const TemporaryFolder folder;
  const std::string task = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "devices": 4, "memory_gb": 4,
                       "tables": [{"row": 1000, "dim": 16, "pooling_factor": 1,
                                   "rules": {"kinds": ["table_row"]}}]})");
  const auto holders = [&](const std::string& node) {
    const Outcome outcome = run_command("plan", {"--task", task, "--cuts", "torchrec",
                                                 "--devices-per-node", node, "--format", "json"});
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    const json plan = json::parse(outcome.out);
    int count = 0;
    for (const json& device : plan["devices"]) count += device["shard"].empty() ? 0 : 1;
    return count;
  };
  EXPECT_EQ(holders("2"), 2);
  EXPECT_EQ(holders("8"), 4);
}

// One table is best cut to what are nearly thirds.
TEST(PlanCommand, EqualWidthsAreOfEachTable) {
  const TemporaryFolder folder;
  const std::string task = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "devices": 3, "memory_gb": 4,
                       "tables": [{"row": 1000000, "dim": 128, "pooling_factor": 20,
                                   "rules": {"kinds": ["column"]}}]})");
  const auto number_of_widths = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--task", task, "--format", "json"});
    const Outcome outcome = run_command("plan", arguments);
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return widths_of(json::parse(outcome.out))[0].size();
  };
  EXPECT_EQ(number_of_widths({}), 2U);
  EXPECT_EQ(number_of_widths({"--equal-widths"}), 1U);
}

TEST(PlanCommand, JsonLinesHaveTheResultOfEveryTask) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command(
      "plan", first_tasks(folder, 4, {"--format", "jsonl", "--cuts", "columns"}, kImpossibleTask));
  EXPECT_EQ(outcome.code, kExitInfeasible);  // The others do not feel it.
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 5U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const json line = json::parse(lines[i]);
    EXPECT_EQ(line["task"], i);
    if (line.contains("error")) {
      EXPECT_EQ(i, 4U);
      EXPECT_EQ(line["error"]["kind"], "total_memory");
      EXPECT_THAT(line["error"]["message"].get<std::string>(), HasSubstr("GiB"));
    } else {
      EXPECT_LT(i, 4U);
      EXPECT_GT(line["cost"].get<double>(), 0.0);
      EXPECT_GE(line["search_ms"].get<double>(), 0.0);
      EXPECT_EQ(line["shards"].size(), 4U);
      EXPECT_TRUE(line["steps"].is_array());
      EXPECT_GT(line["tables"].get<int>(), 0);
    }
  }
}

TEST(PlanCommand, JsonLinesHaveNeitherAlternativesNorABound) {
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--alternatives", "2"}, {"--bound"}}) {
    const TemporaryFolder folder;
    std::vector<std::string> args = first_tasks(folder, 1, {"--format", "jsonl"});
    args.insert(args.end(), option.begin(), option.end());
    const Outcome outcome = run_command("plan", args);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.err, HasSubstr(option.front() + " does not belong to --format jsonl"));
  }
}

TEST(PlanCommand, InvalidTasksDoNotCostTheOthers) {
  const TemporaryFolder folder;
  const std::string bad = "0,856 8,8\n0,1 8,7\n";
  const Outcome good = run_command("plan", first_tasks(folder, 2, {"--format", "jsonl"}));
  const Outcome outcome = run_command("plan", first_tasks(folder, 2, {"--format", "jsonl"}, bad));
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("2 of 4 tasks could not be planned"));
  EXPECT_THAT(outcome.err, HasSubstr("tasks.txt: line 3: id 1 is 856"));
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 4U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(json::parse(lines[i])["shards"], json::parse(lines_of(good.out)[i])["shards"]);
    const json error = json::parse(lines[i + 2]);
    EXPECT_EQ(error["task"], i + 2);
    EXPECT_EQ(error["error"]["kind"], "invalid_task");
  }
  EXPECT_THAT(lines[3], HasSubstr("dim 7 is not a multiple of 4"));

  const std::string plans = folder.write("plans.jsonl", outcome.out);
  const Outcome table = run_command("plan", first_tasks(folder, 2, {}, bad));
  EXPECT_EQ(table.code, kExitBadInput);
  EXPECT_THAT(table.out, HasSubstr("planned    2 of 4 tasks"));
  EXPECT_THAT(table.out, HasSubstr("id 1 is 856"));
  EXPECT_EQ(run_command("simulate", first_tasks(folder, 2, {"--plan", plans}, bad)).code,
            kExitInfeasible);
}

TEST(PlanCommand, DocumentOfATaskWithoutAPlanSaysWhy) {
  const TemporaryFolder folder;
  const std::string plan = folder / "plan.json";
  const Outcome outcome = run_command(
      "plan", first_tasks(folder, 0, {"--format", "json", "--output", plan}, kImpossibleTask));
  EXPECT_EQ(outcome.code, kExitInfeasible);
  const json document = json::parse(contents_of(plan));
  EXPECT_EQ(document["format"], "neuroshard.plan");
  EXPECT_EQ(document["task"]["devices"], 4);
  EXPECT_EQ(document["error"]["kind"], "total_memory");
  EXPECT_GT(document["error"]["needed_bytes"].get<std::int64_t>(), std::int64_t{16} << 30);
  EXPECT_EQ(document["error"]["available_bytes"], std::int64_t{16} << 30);
  EXPECT_FALSE(document.contains("cost_ms"));
  const Outcome simulate =
      run_command("simulate", first_tasks(folder, 0, {"--plan", plan}, kImpossibleTask));
  EXPECT_EQ(simulate.code, kExitBadInput);
  EXPECT_THAT(simulate.err, HasSubstr("has no plan; the search found none"));
  EXPECT_THAT(run_command("inspect", {plan}).out, HasSubstr("no plan"));
}

TEST(PlanCommand, ShortageHasAUnitThatShowsIt) {
  const TemporaryFolder folder;
  const std::string task = folder.write("task.json", R"({"format": "neuroshard.task", "version": 1,
      "devices": 1, "memory_gb": 0.001953125,
      "tables": [{"row": 131200, "dim": 4, "pooling_factor": 1}]})");
  EXPECT_THAT(run_command("plan", {"--task", task}).err,
              HasSubstr("the tables need 2.00 MiB, but 1 device of 2.00 MiB holds 2.00 MiB: 2.00 "
                        "KiB are short"));
}

TEST(PlanCommand, OneLineOfATaskFileKeepsItsNumber) {
  const TemporaryFolder folder;
  const auto all = lines_of(run_command("plan", first_tasks(folder, 3, {"--format", "jsonl"})).out);
  const auto one = lines_of(
      run_command("plan", first_tasks(folder, 3, {"--format", "jsonl", "--index", "2"})).out);
  ASSERT_EQ(one.size(), 1U);
  json expected = json::parse(all.at(2));
  json found = json::parse(one[0]);
  expected.erase("search_ms");
  found.erase("search_ms");
  EXPECT_EQ(found, expected);
}

TEST(PlanCommand, SeveralTasksGetATableOfTheirOwn) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command("plan", first_tasks(folder, 4, {}, kImpossibleTask));
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_THAT(outcome.out, HasSubstr("planned    4 of 5 tasks"));
  EXPECT_THAT(outcome.out, ContainsRegex("mean cost  [0-9.]+ ms"));
}

TEST(PlanCommand, ResultsDoNotDependOnThreadsOrBackend) {
  const TemporaryFolder folder;
  const auto costs = [&](const std::vector<std::string>& options) {
    auto args = first_tasks(folder, 4, {"--format", "jsonl"});
    args.insert(args.end(), options.begin(), options.end());
    std::vector<json> lines;
    for (const std::string& line : lines_of(run_command("plan", args).out)) {
      lines.push_back(json::parse(line));
      lines.back().erase("search_ms");
    }
    return lines;
  };
  const auto expected = costs({});
  EXPECT_EQ(costs({"--threads", "1"}), expected);
  EXPECT_EQ(costs({"--backend", "scalar"}), expected);
}

// A task of which one table exceeds a device.
TEST(PlanCommand, WithoutMemorySplitsItGivesUpAndSaysWhatWouldHelp) {
  EXPECT_EQ(run_command("plan", golden_tasks({"--index", "12"})).code, kExitOk);
  const Outcome outcome = run_command(
      "plan", golden_tasks({"--index", "12", "--algorithm", "published", "--no-memory-splits"}));
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("allow memory splits"));
}

TEST(PlanCommand, BaselinesAreWorseThanTheSearch) {
  const auto cost = [](const std::string& algorithm) {
    const Outcome outcome = run_command(
        "plan", golden_tasks({"--index", "0", "--format", "jsonl", "--algorithm", algorithm}));
    return json::parse(outcome.out).at("cost").get<double>();
  };
  const double best = cost("neuroshard");
  for (const char* algorithm :
       {"dim_greedy", "size_greedy", "lookup_greedy", "size_lookup_greedy"}) {
    EXPECT_LT(best, cost(algorithm)) << algorithm;
  }
}

TEST(PlanCommand, RandomPlansFollowTheSeed) {
  const auto shards = [](const std::string& seed) {
    const Outcome outcome = run_command(
        "plan", {"--tables", golden("tables/table_configs.json"), "--tasks",
                 golden("tasks/4gpu_dim64.txt"), "--index", "0", "--devices", "4", "--memory-gb",
                 "64", "--format", "jsonl", "--algorithm", "random", "--seed", seed});
    return json::parse(outcome.out).at("shards");
  };
  EXPECT_EQ(shards("1"), shards("1"));
  EXPECT_NE(shards("1"), shards("2"));
}

}  // namespace
}  // namespace neuroshard::tools
