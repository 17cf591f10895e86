#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

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
  EXPECT_EQ(explained["devices_by_cost"][0], explained["deciding_device"]);
  EXPECT_NEAR(explained["devices"][deciding]["total_ms"].get<double>(),
              explained["cost_ms"].get<double>(), 1e-6);
}

TEST(ExplainCommand, PlansWhereNoPlanIsGiven) {
  const Outcome outcome =
      run_command("explain", golden_tasks({"--index", "0", "--effort", "fast"}));
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("per iteration, set by device"));
  EXPECT_THAT(outcome.out, HasSubstr("what leaving one out changes"));
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
