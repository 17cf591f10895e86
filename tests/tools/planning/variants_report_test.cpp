// Several --devices, --memory-gb and sizes of --host-memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kOddlyNamedToy =
    R"({"format": "neuroshard.task", "version": 1, "name": "toy <&>",
  "devices": 2, "memory_gb": 1, "tables": [
    {"name": "a", "row": 10000000, "dim": 32, "pooling_factor": 10},
    {"name": "b", "row": 2000000, "dim": 64, "pooling_factor": 3},
    {"name": "c", "row": 1000, "dim": 16, "pooling_factor": 1}]})";

Outcome what_if(const TemporaryFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> args = {"--task", folder.write("task.json", kOddlyNamedToy), "--effort",
                                   "fast"};
  args.insert(args.end(), more.begin(), more.end());
  return run_command("plan", args);
}

TEST(WhatIfs, GetARowEach) {
  const TemporaryFolder folder;
  const Outcome outcome = what_if(folder, {"--devices", "2,4,8", "--memory-gb", "0.5,1"});
  EXPECT_EQ(outcome.code, kExitInfeasible);  // 2 devices of 0.5 GiB.
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, ContainsRegex("toy <&>: 3 tables, 1.67 GiB"));
  EXPECT_THAT(outcome.out, ContainsRegex("\n +2  +512 MiB +- +- +- +- +-  .*GiB"));
  EXPECT_THAT(outcome.out, ContainsRegex("\n +8  1.00 GiB +[0-9.]+ +1.[0-9]+ +[0-9]+ "));
  EXPECT_THAT(outcome.out, HasSubstr("planned  5 of 6 variants"));
  EXPECT_THAT(outcome.out, ContainsRegex("read     the task in [0-9.]+ ms"));
  EXPECT_THAT(outcome.out, HasSubstr("weights  built-in weights"));
}

TEST(WhatIfs, OfHostMemoryAreThoseOfItsSizes) {
  const TemporaryFolder folder;
  const auto hosts = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--host-memory", "gb=0,gb=2,gb=1,link_gb_s=25"});
    return what_if(folder, more);
  };
  const std::string file = folder / "costs.svg";
  const Outcome outcome = hosts({"--memory-gb", "0.25,1", "--svg", file});
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_THAT(outcome.out, ContainsRegex("devices +memory +hosts +cost ms"));
  EXPECT_THAT(outcome.out, ContainsRegex("\n +2 +256 MiB +0 B +- "));
  EXPECT_THAT(outcome.out, ContainsRegex("\n +2 +256 MiB +2.00 GiB +[0-9.]+ "));
  EXPECT_THAT(outcome.out, HasSubstr("planned  5 of 6 variants"));
  EXPECT_THAT(contents_of(file),
              AllOf(HasSubstr("GiB of each device"), HasSubstr("2 devices, hosts of 2.00 GiB")));
  const json document = json::parse(hosts({"--memory-gb", "0.25", "--format", "json"}).out);
  ASSERT_EQ(document["variants"].size(), 3U);
  EXPECT_EQ(document["variants"][1]["host_gb"], 2.0);
  const json alone = json::parse(what_if(folder, {"--memory-gb", "0.25", "--host-memory",
                                                  "gb=2,link_gb_s=25", "--format", "jsonl"})
                                     .out);
  EXPECT_EQ(document["variants"][1]["cost_ms"], alone["cost"]);
  EXPECT_FALSE(
      json::parse(what_if(folder, {"--devices", "2,4", "--format", "json"}).out)["variants"][0]
          .contains("host_gb"));
  const Outcome fewest = hosts({"--devices", "2,4", "--memory-gb", "1"});
  EXPECT_THAT(fewest.out,
              ContainsRegex("fewest   2 devices of 1.00 GiB, .* take 1.[0-9]+ times as"));
  EXPECT_THAT(what_if(folder, {"--host-memory", "gb=1,node_gb=2,link_gb_s=25"}).err,
              HasSubstr("--host-memory: gb is of each device and node_gb of each node"));
  EXPECT_THAT(what_if(folder, {"--host-memory", "gb=1,gb=x,link_gb_s=25"}).err,
              HasSubstr("--host-memory: gb is 'x'"));
  EXPECT_THAT(hosts({"--list-shards"}).err, HasSubstr("--list-shards"));
}

TEST(WhatIfs, JsonHasThePlansOfSinglePlans) {
  const TemporaryFolder folder;
  const Outcome outcome =
      what_if(folder, {"--devices", "2,4", "--cuts", "columns", "--format", "json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["format"], "neuroshard.variants");
  EXPECT_EQ(document["task"]["tables"], 3);
  EXPECT_GT(document["read_ms"].get<double>(), 0.0);
  ASSERT_EQ(document["variants"].size(), 2U);
  for (const json& variant : document["variants"]) {
    const std::string devices = std::to_string(variant["devices"].get<int>());
    const json alone = json::parse(
        what_if(folder, {"--devices", devices, "--cuts", "columns", "--format", "jsonl"}).out);
    EXPECT_EQ(variant["cost_ms"], alone["cost"]);
    EXPECT_EQ(variant["column_splits"], alone["steps"]);
    EXPECT_EQ(variant["shards"], alone["shards"]);
    EXPECT_EQ(variant["memory_gb"], 1.0);
    EXPECT_GE(variant["imbalance"].get<double>(), 1.0);
    EXPECT_EQ(variant["slices"], 3 + alone["steps"].size());
    EXPECT_LE(variant["fullest_gb"].get<double>(), 1.0);
  }
}

TEST(WhatIfs, JsonHasAllOfPlansThatNoColumnSplitsMake) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "devices": 2, "memory_gb": 1,
        "tables": [{"row": 1000, "dim": 16, "pooling_factor": 1, "rules": {"kinds": ["replicate"]}},
                   {"row": 1000, "dim": 32, "pooling_factor": 1, "rules": {"kinds": ["row"]}}]})");
  const Outcome outcome =
      run_command("plan", {"--task", file, "--devices", "2,4", "--format", "json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json document = json::parse(outcome.out);
  for (const json& variant : document["variants"]) {
    const int devices = variant["devices"].get<int>();
    EXPECT_EQ(variant["replicas"], json::array({0}));
    EXPECT_EQ(variant["slices"], devices);
    const json alone =
        json::parse(run_command("plan", {"--task", file, "--devices", std::to_string(devices),
                                         "--format", "jsonl"})
                        .out);
    EXPECT_EQ(variant["slice_list"], alone["slices"]);
    EXPECT_EQ(variant["shards"], alone["shards"]);
    EXPECT_EQ(variant["replicas"], alone["replicas"]);
  }
}

TEST(WhatIfs, JsonLinesSayWhatDoesNotFit) {
  const TemporaryFolder folder;
  const Outcome outcome =
      what_if(folder, {"--memory-gb", "0.1,1", "--format", "jsonl", "--deadline-ms", "60000"});
  EXPECT_EQ(outcome.code, kExitInfeasible);
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(json::parse(lines[0])["error"]["kind"], "total_memory");
  EXPECT_EQ(json::parse(lines[0])["memory_gb"].get<double>(), 0.1);
  EXPECT_GT(json::parse(lines[1])["cost_ms"].get<double>(), 0.0);
}

TEST(WhatIfs, ThoseThatAreInvalidCostNoOthers) {
  const TemporaryFolder folder;
  json task = json::parse(kOddlyNamedToy);
  task["tables"][0]["rules"] = {{"not_devices", {3}}};
  const std::string file = folder.write("ruled.json", task.dump());
  const std::vector<std::string> args = {"--task", file, "--effort", "fast", "--devices", "2,4,8"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), args.begin(), args.end());
    return run_command("plan", more);
  };
  const Outcome page = with({"--memory-gb", "1"});
  EXPECT_EQ(page.code, kExitBadInput);
  EXPECT_THAT(page.out,
              ContainsRegex("\n +2  1.00 GiB +- +- +- +- +-  .*not_devices names device 3"));
  EXPECT_THAT(page.out, ContainsRegex("\n +4  1.00 GiB +[0-9.]+ +1.[0-9]+ +[0-9]+ "));
  EXPECT_THAT(page.out, HasSubstr("planned  2 of 3 variants"));
  EXPECT_THAT(page.err, HasSubstr("1 of 3 variants could not be planned, the first because with 2 "
                                  "devices of 1.00 GiB: table 0 ('a'): the rule not_devices"));
  const json document = json::parse(with({"--format", "json", "--deadline-ms", "60000"}).out);
  EXPECT_EQ(document["variants"][0]["error"]["kind"], "invalid_task");
  EXPECT_GT(document["variants"][2]["cost_ms"].get<double>(), 0.0);
  // Where none can be planned there is no page.
  const Outcome none = run_command(
      "plan", {"--task", file, "--effort", "fast", "--devices", "2,3", "--memory-gb", "1"});
  EXPECT_EQ(none.code, kExitBadInput);
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err, HasSubstr("ruled.json: with 2 devices of 1.00 GiB: table 0 ('a')"));
}

TEST(WhatIfs, ChartHasALineForEachSizeOfMemory) {
  const TemporaryFolder folder;
  const std::string file = folder / "costs.svg";
  const Outcome outcome =
      what_if(folder, {"--devices", "8,2,4", "--memory-gb", "0.5,1", "--svg", file});
  EXPECT_EQ(outcome.code, kExitInfeasible);
  const std::string svg = contents_of(file);
  EXPECT_THAT(svg, HasSubstr("toy &lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr("1.00 GiB"));
  EXPECT_THAT(svg, HasSubstr("512 MiB"));
  std::size_t points = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1)) {
    ++points;
  }
  EXPECT_EQ(points, 5U);
}

TEST(WhatIfs, RejectWhatDoesNotBelongToThem) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::vector<std::string>& more) {
    const Outcome outcome = what_if(folder, more);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  EXPECT_THAT(error_of({"--devices", "2,4", "--alternatives", "2"}), HasSubstr("--alternatives"));
  EXPECT_THAT(error_of({"--devices", "2,4", "--list-shards"}), HasSubstr("--list-shards"));
  EXPECT_THAT(error_of({"--devices", "2,0"}), HasSubstr("devices"));
  EXPECT_THAT(error_of({"--devices", "2,x"}), HasSubstr("--devices"));
  for (const char* list : {"4,", ",4", "4,,8", ",", ""}) {
    EXPECT_THAT(error_of({"--devices", list}), HasSubstr("--devices: '" + std::string(list) + "'"));
    EXPECT_THAT(error_of({"--memory-gb", list}), HasSubstr("--memory-gb: "));
  }
  EXPECT_THAT(error_of({"--devices", "2,4", "--memory-gb", "1,-1"}), HasSubstr("memory"));
  EXPECT_THAT(error_of({"--svg", folder / "a.svg"}), HasSubstr("give several with --devices"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.svg"));
  const Outcome several = run_command("plan", first_tasks(folder, 2, {"--devices", "2,4"}));
  EXPECT_EQ(several.code, kExitBadInput);
  EXPECT_THAT(several.err, HasSubstr("belong to one task; pick one with --index"));
}

TEST(WhatIfs, OtherCommandsTakeOneNumber) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command(
      "fingerprint", {"--task", folder.write("task.json", kOddlyNamedToy), "--devices", "2,4"});
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("--devices"));
  const Outcome hosts =
      run_command("fingerprint", {"--task", folder.write("task.json", kOddlyNamedToy),
                                  "--host-memory", "gb=1,gb=2,link_gb_s=25"});
  EXPECT_EQ(hosts.code, kExitBadInput);
  EXPECT_THAT(hosts.err, HasSubstr("--host-memory: several sizes are for what-ifs"));
}

}  // namespace
}  // namespace neuroshard::tools
