#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(InspectCommand, TellsFilesApartByTheirContents) {
  const TemporaryFolder folder;
  const auto inspect = [](const std::string& file) {
    const Outcome outcome = run_command("inspect", {file});
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return outcome.out;
  };
  const Outcome builtin = run_command({"inspect"});
  EXPECT_EQ(builtin.code, kExitOk);
  EXPECT_THAT(builtin.out, HasSubstr("not measured on hardware"));
  EXPECT_THAT(builtin.out, HasSubstr("any device count, forward"));
  EXPECT_THAT(inspect(golden("models/compute.pt")), HasSubstr("20 -> 128 -> 32"));
  EXPECT_THAT(inspect(golden("models/comm_8_bw.pt")), HasSubstr("for 8 devices"));
  EXPECT_THAT(inspect(golden("tables/table_configs.json")), HasSubstr("table list, 856 tables"));
  EXPECT_THAT(inspect(golden("plans/4gpu_dim64.jsonl")), HasSubstr("no plan"));
  const std::string plan = folder / "plan.json";
  ASSERT_EQ(
      run_command("plan", golden_tasks({"--index", "0", "--format", "json", "--output", plan}))
          .code,
      kExitOk);
  EXPECT_THAT(inspect(plan), HasSubstr("1 plan"));
  const std::string weights = folder / "weights.safetensors";
  const std::string models = golden("models/");
  ASSERT_EQ(
      run_command({"convert", "--compute-model", models + "compute.pt", "--forward-comm-model",
                   models + "comm_4_fw.pt", "--backward-comm-model", models + "comm_4_bw.pt",
                   "--metadata", "hardware=test bench", "--output", weights})
          .code,
      kExitOk);
  EXPECT_THAT(inspect(weights), HasSubstr("test bench"));
}

TEST(InspectCommand, ShowsWhatATaskSaysOfNodesRulesAndGroups) {
  const TemporaryFolder folder;
  const std::string task = folder / "task.json";
  std::ofstream(task) << R"({"format": "neuroshard.task", "version": 1, "devices": 8,
    "memory_gb": 4, "hardware": "h100", "batch_size": 8192, "devices_per_node": 4,
    "links": {"in_node_gb_s": 31.5, "node_gb_s": 25},
    "exchange": {"forward": "fp16", "ids": "int32"}, "overlap": {"ids": true, "dense_ms": 3},
    "tables": [{"name": "a", "row": 1000, "dim": 16, "pooling_factor": 3},
               {"name": "b", "row": 1000, "dim": 16, "pooling_factor": 3},
               {"name": "c", "row": 1000, "dim": 16, "pooling_factor": 3,
                "rules": {"no_split": true}}],
    "groups": [{"name": "users", "keep": "together", "tables": ["a", "b"]},
               {"keep": "apart", "tables": ["b", "c"]}]})";
  const Outcome shown = run_command("inspect", {task});
  ASSERT_EQ(shown.code, kExitOk) << shown.err;
  for (const char* line :
       {"hardware: h100\n", "batch: 8,192 samples\n",
        "nodes: of 4 devices, with links: in_node_gb_s 31.5, node_gb_s 25\n",
        "exchange: forward fp16, ids int32\n", "overlap: ids, dense_ms 3\n", "rules: of 1 table\n",
        "2 groups: 1 together (2 tables), 1 apart (2 tables)\n",
        "  0 'users', together: tables 0, 1\n", "  1, apart: tables 1, 2\n"}) {
    EXPECT_THAT(shown.out, HasSubstr(line));
  }
  // Plans of it say so, too.
  const Outcome planned = run_command("plan", {"--task", task, "--effort", "fast"});
  ASSERT_EQ(planned.code, kExitOk) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("of 4 devices, with links: in_node_gb_s 31.5, node_gb_s 25"));
  EXPECT_THAT(planned.out, HasSubstr("exchange forward fp16, ids int32"));
  EXPECT_THAT(planned.out, ContainsRegex("hidden +0.[0-9]+ ms of ids run behind the iteration"));
  EXPECT_THAT(planned.out, HasSubstr("overlap: ids, dense_ms 3"));
  EXPECT_THAT(planned.out, HasSubstr("2 groups: 1 together (2 tables), 1 apart (2 tables)"));
}

}  // namespace
}  // namespace neuroshard::tools
