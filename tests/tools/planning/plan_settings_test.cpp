// Options of the plan command that take the place of what a task says besides tables and devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlanCommand, ExchangeTypesTakeThePlaceOfFields) {
  const TemporaryFolder folder;
  const std::string task = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "devices": 4, "memory_gb": 2,
                       "exchange": {"forward": "fp16", "backward": "fp8"},
                       "tables": [{"row": 100000, "dim": 64, "pooling_factor": 2},
                                  {"row": 200000, "dim": 64, "pooling_factor": 9}]})");
  const auto plan_with = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--task", task, "--format", "json", "--effort", "fast"});
    return run_command("plan", options);
  };
  const json stated = json::parse(plan_with({}).out);
  EXPECT_THAT(stated["notes"].dump(), HasSubstr("exchange: forward fp16, backward fp8; what is"));
  const json changed =
      json::parse(plan_with({"--exchange-types", "backward=fp32,ids=int32,forward_share=0.5"}).out);
  EXPECT_THAT(changed["notes"].dump(),
              HasSubstr("exchange: forward fp16, ids int32, forward_share 0.5; what is"));
  EXPECT_GT(changed["cost_ms"], stated["cost_ms"]);
  // All tables are pooled.
  const json once = json::parse(plan_with({"--exchange-types", "deduplicate_ids"}).out);
  EXPECT_THAT(once["notes"].dump(), HasSubstr("backward fp8, deduplicate_ids; what is"));
  EXPECT_THAT(once["notes"].dump(), HasSubstr("deduplicate_ids of exchange makes no difference"));
  EXPECT_EQ(once["cost_ms"], stated["cost_ms"]);
  const json often = json::parse(plan_with({"--exchange-types", "deduplicate_ids=false"}).out);
  EXPECT_EQ(often["notes"], stated["notes"]);
  for (const auto& [option, text] : std::map<std::string, std::string>{
           {"deduplicate_ids=1", "--exchange-types: deduplicate_ids is '1'; give true or false"},
           {"forward", "--exchange-types: 'forward' says nothing; give FIELD=VALUE"},
           {"forwards=fp16",
            "--exchange-types: there is no 'forwards'; use forward, backward, ids, forward_share, "
            "backward_share, deduplicate_ids"},
           {"ids=fp16", "--exchange-types: there is no type on the wire 'fp16'"},
           {"forward_share=much", "--exchange-types: 'much' is no number"},
           {"forward_share=nan", "--exchange-types: forward_share is nan"},
           {"backward_share=0", "--exchange-types: backward_share is 0; give the share"}}) {
    const Outcome outcome = plan_with({"--exchange-types", option});
    EXPECT_EQ(outcome.code, kExitBadInput) << option;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
}

TEST(PlanCommand, SaysWhatRunsBesideWhat) {
  const TemporaryFolder folder;
  const std::string task = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "devices": 4, "memory_gb": 2,
                       "overlap": {"dense_ms": 3},
                       "tables": [{"row": 100000, "dim": 64, "pooling_factor": 2},
                                  {"row": 200000, "dim": 64, "pooling_factor": 9}]})");
  const auto plan_as = [&](const char* format, std::vector<std::string> options) {
    options.insert(options.end(), {"--task", task, "--format", format, "--effort", "fast"});
    return run_command("plan", options);
  };
  const json stated = json::parse(plan_as("json", {}).out);
  EXPECT_THAT(stated["notes"].dump(), HasSubstr("overlap: dense_ms 3"));
  EXPECT_EQ(stated["devices"][0]["cost"]["dense_ms"], 3.0);
  EXPECT_FALSE(stated["devices"][0]["cost"].contains("hidden_ms"));
  EXPECT_FALSE(stated.contains("set_by"));
  const json hidden = json::parse(plan_as("json", {"--overlap", "ids"}).out);
  const json& cost = hidden["devices"][0]["cost"];
  EXPECT_GT(cost["hidden_ms"], 0.0);
  EXPECT_EQ(cost["hidden_ms"], cost["ids_ms"]);
  EXPECT_LT(hidden["cost_ms"], stated["cost_ms"]);
  EXPECT_EQ(json::parse(plan_as("json", {"--overlap", "ids=false"}).out)["cost_ms"],
            stated["cost_ms"]);
  const json by_host = json::parse(plan_as("json", {"--overlap", "host_ms=50"}).out);
  EXPECT_EQ(by_host["cost_ms"], 50.0);
  EXPECT_EQ(by_host["set_by"], "host");
  EXPECT_THAT(
      plan_as("table", {"--overlap", "host_ms=50"}).out,
      ContainsRegex(
          "50.0+ ms per iteration of [0-9,]+ samples, set by the host .devices take up to [0-9.]+ "
          "ms"));
  for (const auto& [option, text] : std::map<std::string, std::string>{
           {"id",
            "--overlap: there is no 'id'; use ids, dense_ms, dense_beside_outputs_ms, "
            "dense_beside_gradients_ms, host_ms"},
           {"ids=maybe", "--overlap: ids is 'maybe'; give true or false"},
           {"dense_ms", "--overlap: dense_ms is '', no number; give milliseconds"},
           {"dense_ms=nan", "--overlap: dense_ms is nan; give milliseconds"},
           {"host_ms=-1", "--overlap: host_ms is -1; give milliseconds of an iteration"}}) {
    const Outcome outcome = plan_as("json", {"--overlap", option});
    EXPECT_EQ(outcome.code, kExitBadInput) << option;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
}

TEST(PlanCommand, SaysWhatWaitsInHostMemory) {
  const TemporaryFolder folder;
  const std::string task = folder.write(
      "task.json", R"({"format": "neuroshard.task", "version": 1, "devices": 2, "memory_gb": 1,
                       "tables": [{"row": 9000000, "dim": 64, "pooling_factor": 2},
                                  {"row": 7000000, "dim": 64, "pooling_factor": 9}]})");
  const auto plan_as = [&](const char* format, const std::string& host) {
    std::vector<std::string> options{"--task", task, "--format", format, "--effort", "fast"};
    if (!host.empty()) options.insert(options.end(), {"--host-memory", host});
    return run_command("plan", options);
  };
  EXPECT_EQ(plan_as("json", "").code, kExitInfeasible);
  const json plan = json::parse(plan_as("json", "gb=8,link_gb_s=25").out);
  EXPECT_GT(plan["devices"][0]["cost"]["fetch_ms"], 0.0);
  EXPECT_LE(plan["devices"][0]["memory_gb"], 1.0);
  EXPECT_GT(plan["devices"][0]["memory"]["host_bytes"], 0);
  EXPECT_LT(plan["devices"][0]["shard"][0]["hbm_share"], 1.0);
  EXPECT_THAT(plan["notes"].dump(), HasSubstr("host memory: 8.00 GiB for each device at 25 GB/s"));
  EXPECT_THAT(plan_as("table", "gb=8,link_gb_s=25").out,
              ::testing::AllOf(HasSubstr("fetch"),
                               ContainsRegex("host +rows of 2 tables wait in [0-9.]+ GiB")));
  const json beside =
      json::parse(plan_as("json", "node_gb=1,link_gb_s=25,ssd_gb=8,ssd_gb_s=2").out);
  EXPECT_GT(beside["devices"][0]["cost"]["ssd_ms"], 0.0);
  EXPECT_GT(beside["devices"][0]["memory"]["ssd_bytes"], 0);
  EXPECT_TRUE(std::ranges::any_of(beside["devices"][0]["shard"],
                                  [](const json& slice) { return slice["ssd_share"] > 0.0; }));
  EXPECT_THAT(beside["notes"].dump(),
              HasSubstr("host memory: 1.00 GiB for each node at 25 GB/s, lru, 8.00 GiB of SSD at 2 "
                        "GB/s"));
  EXPECT_THAT(plan_as("table", "gb=0.5,link_gb_s=25,ssd_gb=8,ssd_gb_s=2").out,
              ContainsRegex("on SSDs, which take"));
  EXPECT_THAT(plan_as("json", "gb=8,link_gb_s=25,ssd_gb=8").err,
              HasSubstr("--host-memory: ssd_gb_s is 0; give the GB/s of a device's reads"));
  EXPECT_THAT(plan_as("table", "gb=8,link_gb_s=25,prefetch").out,
              HasSubstr("ms of fetched rows run behind the iteration before"));
  EXPECT_LT(json::parse(plan_as("json", "gb=8,link_gb_s=25,policy=static").out)["cost_ms"],
            plan["cost_ms"]);
  for (const auto& [option, text] : std::map<std::string, std::string>{
           {"gib=3",
            "--host-memory: there is no 'gib'; use gb, node_gb, link_gb_s, policy, prefetch, "
            "ssd_gb, ssd_gb_s"},
           {"gb=x", "--host-memory: gb is 'x', no number; give e.g. gb=25"},
           {"gb=8", "--host-memory: link_gb_s is 0; give the GB/s"},
           {"policy=fifo", "--host-memory: there is no policy 'fifo'; use one of lru, static"}}) {
    const Outcome outcome = plan_as("json", option);
    EXPECT_EQ(outcome.code, kExitBadInput) << option;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
}

TEST(PlanCommand, HostMemoryIsOfDevicesThatDifferToo) {
  const TemporaryFolder folder;
  const std::string task =
      folder.write("task.json",
                   R"({"format": "neuroshard.task", "version": 1, "memory_gb": 1,
          "devices": [{}, {"host_gb": 8, "host_link_gb_s": 4, "ssd_gb": 4, "ssd_gb_s": 3}],
          "host_memory": {"gb": 1, "link_gb_s": 1, "ssd_gb": 2, "ssd_gb_s": 2},
          "tables": [{"row": 9000000, "dim": 64, "pooling_factor": 2},
                     {"row": 7000000, "dim": 64, "pooling_factor": 9}]})");
  const auto plan_with = [&](const char* format, const std::vector<std::string>& more) {
    std::vector<std::string> options{"--task", task, "--format", format, "--effort", "fast"};
    options.insert(options.end(), more.begin(), more.end());
    return run_command("plan", options);
  };
  const auto cost = [](const Outcome& outcome) { return json::parse(outcome.out)["cost_ms"]; };
  const Outcome stated = plan_with("json", {});
  EXPECT_THAT(json::parse(stated.out)["notes"].dump(), HasSubstr("; 1 device has other figures"));
  // An option is of all devices.
  const std::vector<std::string> all{"--host-memory", "gb=1,link_gb_s=1,ssd_gb=2,ssd_gb_s=2"};
  const Outcome slower = plan_with("json", all);
  EXPECT_GT(cost(slower), cost(stated));
  EXPECT_THAT(json::parse(slower.out)["notes"].dump(), Not(HasSubstr("other figures")));
  EXPECT_EQ(plan_with("json", {"--host-memory", "ssd_gb=0"}).code, kExitOk);
  EXPECT_THAT(plan_with("json", {"--host-memory", "gb=0,ssd_gb=0"}).err, HasSubstr("are short"));
}

}  // namespace
}  // namespace neuroshard::tools
