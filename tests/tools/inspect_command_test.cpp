#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

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

}  // namespace
}  // namespace neuroshard::tools
